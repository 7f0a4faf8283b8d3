"""Lists partitions: `partition_listing` looks into one, `listing_table` prints."""
