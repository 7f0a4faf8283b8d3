"""The exam: a log that a learner has written from nothing, in one file, beside Apache Kafka's.

Read `learners_log` first, how the file is taken in, and `learners_process`, where it runs, then `stories`, what is done
to both logs and compared, and `questions`, what each proves and does not prove. The command is `minikafka.exam`.
"""
