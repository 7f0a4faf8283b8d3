"""A real HTTP S3 server on loopback, moto's, that notes what it is asked for."""

from pathlib import Path
from typing import NamedTuple

from moto.server import ThreadedMotoServer
from pyarrow import fs

BUCKET = "bucket"
_PATIENCE_S = 60  # the clients' own is 3 s: too short where other processes keep the server waiting


class Request(NamedTuple):
    """A request, and how many bytes of an object the answer had."""

    method: str
    path: str
    range: str | None
    size: int


class ObjectStore:
    """A context: the server runs in it, with an empty bucket. `requests` are those since the last `forget`."""

    def __enter__(self) -> "ObjectStore":
        self.requests: list[Request] = []
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.endpoint = f"{host}:{port}"
        served = self._server._server  # werkzeug's; moto has no other way to put something before its application
        application = served.app

        def noted(environ, start_response):
            def start(status, headers, *more):
                is_object = environ["REQUEST_METHOD"] == "GET" and not environ["QUERY_STRING"]
                size = int(dict(headers).get("Content-Length", 0)) if is_object else 0
                asked = environ["REQUEST_METHOD"], environ["PATH_INFO"], environ.get("HTTP_RANGE")
                self.requests.append(Request(*asked, size))
                return start_response(status, headers, *more)

            return application(environ, start)

        served.app = noted
        self.file_system = fs.S3FileSystem(
            access_key="access", secret_key="secret", scheme="http", endpoint_override=self.endpoint,
            region="us-east-1", allow_bucket_creation=True, request_timeout=_PATIENCE_S, connect_timeout=_PATIENCE_S,
        )  # fmt: skip
        self.file_system.create_dir(BUCKET)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    @property
    def settings(self) -> dict[str, str]:
        """The source's options that lead to this server."""
        return {
            "fs.endpoint_override": self.endpoint, "fs.scheme": "http", "fs.region": "us-east-1",
            "fs.access_key": "access", "fs.secret_key": "secret",
            "fs.request_timeout": str(_PATIENCE_S), "fs.connect_timeout": str(_PATIENCE_S),
        }  # fmt: skip

    def put(self, path: Path, key: str) -> str:
        """Copy a directory, or a file, to that key; returns its URI."""
        if path.is_dir():
            fs.copy_files(str(path), f"{BUCKET}/{key}", destination_filesystem=self.file_system)
        else:
            with self.file_system.open_output_stream(f"{BUCKET}/{key}") as out:
                out.write(path.read_bytes())
        return f"s3://{BUCKET}/{key}"

    def forget(self) -> None:
        """Forget the requests."""
        self.requests.clear()

    def bytes_of(self, suffix: str) -> int:
        """How many bytes of objects whose names end so were sent."""
        return sum(request.size for request in self.requests if request.path.endswith(suffix))
