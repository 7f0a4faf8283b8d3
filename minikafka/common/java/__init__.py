"""What Java and Scala do otherwise than Python, where bytes on disk, or a choice, depend on it.

`java_numbers` has the ranges of Java's types and reads numbers as Java does, `java_utf8` writes text and
`java_properties` reads and writes files of settings. `java_hash` has the hashes of keys. Then the maps, for their
order: `java_hash_map` (full buckets are trees: `tree_bucket`), `java_concurrent_hash_map` and `scala_hash_map`; and
`java_random`. No order is imitated in answers to clients: `docs/rooms/broker.md` names the lists of which Kafka's order
says nothing.
"""
