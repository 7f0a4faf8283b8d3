"""The exam: a log that a learner has written from nothing, in one file, beside Apache Kafka's.

Read `learners_file` first, how the file is taken in, then `log_in_sandbox`, what runs with it in the sandbox, and
`learners_log`, how it is asked from here. `stories` are what is done to both logs, `judged_story` is what the judge's
log does in one, all of it before the learner's is asked; `comparison` finds the first difference, and
`exam_questions` say what each proves and does not prove. The command is `minikafka.cli.exam`.
"""
