"""The formats before magic 2: `legacy_record` is one message, `legacy_record_batch` a message or a set of them."""
