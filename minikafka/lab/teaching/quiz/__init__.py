"""A quiz across the lessons. Nobody writes down an answer: minikafka gives each one when the page is made.

In reading order: `question`, `small_runs` for the questions of several lessons, and `quiz_page`. The questions are the
lessons' own (`quiz.py` in a lesson's folder).
"""
