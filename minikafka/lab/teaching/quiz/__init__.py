"""A quiz across the lessons. Nobody writes down an answer: minikafka gives each one when the page is made.

In reading order: `question`, then the questions in groups (`files`, `marks`, `starts`, `housekeeping`, `brokers`), and
`quiz_page`.
"""
