"""Messages on a connection: four bytes that say how long each is, and its bytes."""


def framed(message):
    return len(message).to_bytes(4, "big") + message


def answered(connection):
    """The next message, without its length. Raises EOFError when the connection ends before."""
    return _exactly(connection, int.from_bytes(_exactly(connection, 4), "big"))


def _exactly(connection, count):
    found = bytearray()
    while len(found) < count:
        piece = connection.recv(count - len(found))
        if not piece:
            raise EOFError(found)
        found += piece
    return bytes(found)
