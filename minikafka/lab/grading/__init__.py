"""Grading of submitted notebooks, for `minikafka grade`. Nothing that a notebook says of itself counts.

A submission's notebooks are read, not run. Its answers to predictions are compared with what the course's own notebook
gives; its functions are taken out, with all that they need, and checked in a process of their own. In reading order:
`cell_code`, `lesson_tasks`, `needed_code`, `submission`, `fair_code`, `answer_key`, `marking` (the process with the
functions), `grade`.
"""
