"""A Maven repository that speaks TLS, with a certificate that a company of our own has signed, and a proxy."""

import datetime
import hashlib
import http.server
import io
import socket
import ssl
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

COORDINATES = "org.example:tiny:1.0"
_POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>org.example</groupId><artifactId>tiny</artifactId><version>1.0</version></project>"""


@contextmanager
def tls_repository(directory: Path, name: str = "localhost") -> Iterator[int]:
    """The port of a repository that holds COORDINATES; for the host `name` signs who is in `company.pem`, which is
    written into `directory`.
    """
    write_certificates(directory, name)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "server.pem")
    with _served(_Repository) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        yield server.server_port


@contextmanager
def proxy(to: int) -> Iterator[tuple[int, list[str]]]:
    """The port of a proxy that leads every connection to the port `to`, and the hosts that it was asked for."""
    asked: list[str] = []

    class Proxy(http.server.BaseHTTPRequestHandler):
        def do_CONNECT(self):  # noqa: N802
            asked.append(self.path)
            with socket.create_connection(("127.0.0.1", to)) as server:
                self.send_response(200)
                self.end_headers()
                back = threading.Thread(target=_pass_on, args=(server, self.connection), daemon=True)
                back.start()
                _pass_on(self.connection, server)

        def log_message(self, *_):
            """Says nothing."""

    with _served(Proxy) as server:
        yield server.server_port, asked


class _Repository(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # noqa: N802
        data = _FILES.get(self.path)
        self.send_response(404 if data is None else 200)
        self.send_header("Content-Length", str(len(data or b"")))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data or b"")

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_):
        """Says nothing."""


def _files() -> dict[str, bytes]:
    jar = io.BytesIO()
    zipfile.ZipFile(jar, "w").close()
    held = {
        f"/org/example/tiny/1.0/tiny-1.0.{end}": data for end, data in (("pom", _POM.encode()), ("jar", jar.getvalue()))
    }
    return held | {f"{path}.sha1": hashlib.sha1(data).hexdigest().encode() for path, data in held.items()}


_FILES = _files()


@contextmanager
def _served(handler) -> Iterator[http.server.ThreadingHTTPServer]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the other side has left


def write_certificates(directory: Path, name: str) -> None:
    """Write `company.pem`, and `server.pem` with a key and a certificate for the host `name` that the company signs."""
    companys, servers = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    company = _signed("A company", companys, companys, [(x509.BasicConstraints(True, None), True)])
    server = _signed(name, servers, companys, [(x509.SubjectAlternativeName([x509.DNSName(name)]), False)])
    key = servers.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (directory / "company.pem").write_bytes(company.public_bytes(serialization.Encoding.PEM))
    (directory / "server.pem").write_bytes(key + server.public_bytes(serialization.Encoding.PEM))


def _signed(subject: str, key, companys_key, extensions) -> x509.Certificate:
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    builder = x509.CertificateBuilder(
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "A company")]),
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]),
        key.public_key(),
        x509.random_serial_number(),
        now - day,
        now + day,
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    return builder.sign(companys_key, hashes.SHA256())
