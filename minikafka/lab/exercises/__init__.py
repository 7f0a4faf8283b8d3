"""What a reader is asked. Read `prediction` (with `beliefs`, the wrong answers by name) and `exercise` first.

Then a module for each lesson: the exercises' cases, their judge, the wrong beliefs that are recognised; `witnessed` are
cases that a witness answers, `solutions` one way to solve each.
"""
