"""How the tools tell an error: one line, with the name that Kafka's exception has."""


def describe(error: Exception) -> str:
    """`Name: message`, on one line; the machine's own file errors get the names they have in Java."""
    if isinstance(error, FileNotFoundError):
        return f"NoSuchFileException: {error.filename}"
    if isinstance(error, OSError) and type(error).__module__ == "builtins":
        return f"IOException: {error.strerror}: {error.filename}"
    return " ".join(f"{type(error).__name__}: {error}".splitlines())
