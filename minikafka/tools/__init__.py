"""Tools that look into a Kafka log directory without a broker; `minikafka.cli` calls them."""
