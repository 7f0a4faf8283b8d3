"""The loggers of the broker's process and their levels, which clients may read and change while it runs."""

import logging

_ROOT = "root"
_LEVELS = {
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
_NAMES = {level: name for name, level in _LEVELS.items()}


def loggers() -> dict[str, str]:
    """Python's loggers and the levels that count for them, by Kafka's names. Kafka: `LoggingController.loggers`."""
    known = [name for name, each in logging.root.manager.loggerDict.items() if isinstance(each, logging.Logger)]
    return {_ROOT: _level(logging.root), **{name: _level(logging.getLogger(name)) for name in sorted(known)}}


def _level(each: logging.Logger) -> str:
    """The name of the next level below or at that of the logger."""
    effective = each.getEffectiveLevel()
    return _NAMES[max((level for level in _NAMES if level <= effective), default=logging.DEBUG)]
