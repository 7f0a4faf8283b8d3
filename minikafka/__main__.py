"""`python -m minikafka` is the command `minikafka`."""

from minikafka.cli import main

main(prog_name="minikafka")
