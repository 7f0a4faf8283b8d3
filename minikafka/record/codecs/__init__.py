"""Compression: `compression` names the codecs and their levels; each codec has a module, Snappy's kernel one more."""
