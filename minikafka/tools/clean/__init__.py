"""Compacts a partition: `before_cleaning` asks whether all batches are sound, `cleaning_round` cleans."""
