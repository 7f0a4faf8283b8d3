"""Where minikafka keeps what it has fetched, for use without a network."""

import os
from pathlib import Path


def cache_dir() -> Path:
    """$MINIKAFKA_CACHE, else `minikafka` in the user's cache directory ($XDG_CACHE_HOME or ~/.cache)."""
    if chosen := os.environ.get("MINIKAFKA_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "minikafka"
