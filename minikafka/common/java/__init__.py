"""Hash maps and random numbers of Java and Scala: their order decides about bytes on disk, or about what is put where.

`java_hash` has the hashes. Then the maps: `java_hash_map` (full buckets are trees: `tree_bucket`),
`java_concurrent_hash_map` and `scala_hash_map`; and `java_random`. No order is imitated in answers to clients:
`docs/rooms/broker.md` names the lists of which Kafka's order says nothing.
"""
