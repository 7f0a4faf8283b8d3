"""Java, Kafka's jars, and a JVM that has them: what `spark`, `witness` and `twins` stand on.

Read `java_home` and `kafka_jars` first (with `java_network` and `cache`: how they are fetched, and where they stay),
then `kafka_jvm`, through which Kafka's classes are called. `class_archive` makes a JVM start sooner, `scala_compiler`
compiles our Scala, `java_exceptions` keeps PySpark from taking Kafka's exceptions for its own, and `source_jars` are
the sources of any version of Kafka.
"""
