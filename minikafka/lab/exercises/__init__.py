"""What a reader is asked. Read `prediction` (with `beliefs`, the wrong answers by name) and `exercise` first.

Then a package for each lesson, and in it a module for each exercise: its cases, their judge, and the wrong beliefs that
are recognised. `witnessed` has the cases that a witness answers, `asked` those that one method or one log manager
answers; `solutions` shows one way to solve each exercise.
"""
