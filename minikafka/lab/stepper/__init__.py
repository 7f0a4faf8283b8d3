"""A real method on a real log, step by step. Read `steps` (finds the numbered comments), then `stepper`;
`crash_theatre` plays crashes with it, `path_walk` shows a map above it, and `kafka_lines` links each step with
Kafka's.
"""
