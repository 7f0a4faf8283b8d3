"""Rebuilding: the learner's own function runs inside minikafka in place of the engine's method, and Kafka judges it.

Read `mine` first: how a function takes a method's place, for a moment and for one thread. Then `learners_code`, which
stands between the engine and that function: what goes wrong in it is told as the learner's, and an endless loop ends.
`harnesses` drive one log, a log directory or a few brokers; a `performer` does a workload there by the engine with
that function, here or in a sandbox; `trial` lets a judge, Kafka's own, do it as well, and compares observations and
files. `rung` is one method to rebuild, with its workloads (`cleaned_workloads`: of compacted logs), its wrong versions
and its check. The rungs themselves, each with one way to climb it, are the lessons' own (`rungs.py` in a lesson's
folder).
"""
