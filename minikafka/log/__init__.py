"""The storage layer itself: `Log` and the classes below it, named and cut as in Kafka."""
