"""What every other room stands on: Kafka's exceptions, the clock, background work, and the file operations of a log.

Read `errors`, `time`, `scheduler` and `file_ops` first. Everything else is small and explains itself where it is used:
what Java does otherwise than Python (`java`: numbers, text, hash maps), the parsing of settings (`config_def`,
`abstract_config`), all of which Kafka's table has (`kafka_settings`), and that of Python (`python_source`).
"""
