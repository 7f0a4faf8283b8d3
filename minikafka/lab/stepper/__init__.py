"""A real method on a real log, step by step. Read `steps` (finds the numbered comments), then `stepper`; `refusals` and
`crash_theatre` play failures with it, and `kafka_source` links each step with Kafka's own.
"""
