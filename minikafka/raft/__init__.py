"""The log in which a controller keeps what it has decided, on disk, in Kafka's form.

In reading order: `quorum_state_store` (who leads, and since which epoch), `single_voter_log` (the log itself).
"""
