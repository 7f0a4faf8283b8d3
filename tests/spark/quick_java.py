"""What makes a driver that PySpark starts by itself begin sooner, as minikafka's own sessions do."""

QUICK_JAVA = {"PYSPARK_SUBMIT_ARGS": '--driver-java-options "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" pyspark-shell'}
"""Variables of its environment: Java compiles what it runs less well, for a few rows, and sooner."""
