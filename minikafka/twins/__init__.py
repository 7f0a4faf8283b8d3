"""Which member of Kafka's each class and method mirrors, what is not mirrored, and what a later Kafka has changed.

The names stand in one place, the `Kafka:` lines of the docstrings. In reading order:

- `twin_name`: the names that a `Kafka:` line gives;
- `our_members`: our public classes and methods, with their names of Kafka's, without importing them;
- `kafka_source_file`: what a source file of Kafka's declares;
- `kafka_sources`: the sources of one version, and the table of those that are mirrored (`kafka_classes.json`);
- `resolve`: the member that a name means;
- `source_map`: ours beside Kafka's, as data and as a page;
- `coverage`: each class and public method of Kafka's storage module: mirrored by what, or left out, and why;
- `drift`: what another version has changed in what is mirrored.

The commands `minikafka source-map`, `minikafka coverage` and `minikafka drift` are in the room `cli`.
"""
