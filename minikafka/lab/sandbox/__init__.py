"""Foreign code in a process that can change nothing: no file, no network, no other process.

The code of a learner runs there for `minikafka grade` and `minikafka exam`. It gets plain values and gives plain
values; what is right, and what it is worth, is known and decided on this side. In reading order: `plain` (which values
cross the border, and how), `inside` (the other side), `control_group`, `sandbox`.
"""
