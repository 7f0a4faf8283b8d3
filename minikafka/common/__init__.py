"""What every other room stands on: Kafka's exceptions, the clock, background work, and the file operations of a log."""
