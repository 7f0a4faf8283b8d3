"""How a JVM reaches the network from this machine: whom it trusts, and through which proxy it goes.

Java has a list of certificates of its own, and does not look at the variables that name a proxy. Behind a company's
proxy, which signs with the company's certificate, it therefore reaches nothing where Python and curl reach all.
"""

import os
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies_environment

BUNDLE_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Variables that name a file of certificates (PEM), as OpenSSL, Python's requests and curl read them."""

_SYSTEMS_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Alpine, Arch
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/ssl/cert.pem",  # macOS, BSD
)
_PASSWORD = "changeit"  # Java's usual one; what it protects is no secret


def use_this_machines_network(gateway: Any, directory: Path) -> None:
    """Let the JVM behind `gateway` (py4j's) trust whom this machine trusts, besides its own, and use its proxy.

    To be called before the JVM's first connection. `directory`: where its list of certificates is written, and stays
    while it runs. What Java's options or $JAVA_TOOL_OPTIONS set already is left alone.
    """
    system = gateway.jvm.java.lang.System
    if system.getProperty("javax.net.ssl.trustStore") is None:
        store = directory / "trusted.p12"
        _write_store(gateway, store)
        system.setProperty("javax.net.ssl.trustStore", str(store))
        system.setProperty("javax.net.ssl.trustStoreType", "PKCS12")
        system.setProperty("javax.net.ssl.trustStorePassword", _PASSWORD)
    if system.getProperty("https.proxyHost") is None:
        for name, value in proxy_properties().items():
            system.setProperty(name, value)


def trusted_certificates() -> list[bytes]:
    """The certificates (DER) of whoever may sign others, from the files that are named to this machine's programs."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for bundle in _bundles():
        try:
            context.load_verify_locations(cafile=bundle)
        except (OSError, ssl.SSLError):  # there is no such file, or there is no certificate in it
            continue
    return context.get_ca_certs(binary_form=True)


def proxy_properties() -> dict[str, str]:
    """What $HTTPS_PROXY and $NO_PROXY say (or https_proxy, no_proxy), as Java's properties; none without a proxy."""
    proxies = getproxies_environment()
    proxy = urlsplit(proxies.get("https", ""))
    if not proxy.hostname:
        return {}
    properties = {"https.proxyHost": proxy.hostname, "https.proxyPort": str(proxy.port or 80)}
    if direct := [host.strip().lstrip(".") for host in proxies.get("no", "").split(",") if host.strip()]:
        properties["http.nonProxyHosts"] = "|".join(f"{host}|*.{host}" for host in direct)
    return properties


def _bundles() -> Iterator[str]:
    yield from filter(None, map(os.environ.get, BUNDLE_VARIABLES))
    yield from _SYSTEMS_BUNDLES
    paths = ssl.get_default_verify_paths()
    yield from filter(None, [paths.cafile])
    if paths.capath is not None:  # for $SSL_CERT_DIR
        yield from map(str, sorted(Path(paths.capath).glob("*.[0-9]")))


def _write_store(gateway: Any, file: Path) -> None:
    """Write a store of Java's with all that it trusts by itself, and what this machine trusts."""
    from py4j.protocol import Py4JJavaError

    java = gateway.jvm.java
    password = gateway.new_array(gateway.jvm.char, len(_PASSWORD))
    for place, letter in enumerate(_PASSWORD):
        password[place] = letter
    store = java.security.KeyStore.getInstance("PKCS12")
    store.load(None, password)
    factory = java.security.cert.CertificateFactory.getInstance("X.509")
    for number, issuer in enumerate(_trusted_by_java(gateway)):
        store.setCertificateEntry(f"java-{number}", issuer)
    for number, certificate in enumerate(trusted_certificates()):
        try:
            issuer = factory.generateCertificate(java.io.ByteArrayInputStream(certificate))
        except Py4JJavaError:  # one that OpenSSL reads and Java does not
            continue
        store.setCertificateEntry(f"machine-{number}", issuer)
    stream = java.io.FileOutputStream(str(file))
    try:
        store.store(stream, password)
    finally:
        stream.close()


def _trusted_by_java(gateway: Any) -> Any:
    """The certificates that Java trusts by itself."""
    jvm = gateway.jvm
    factory = jvm.javax.net.ssl.TrustManagerFactory.getInstance(
        jvm.javax.net.ssl.TrustManagerFactory.getDefaultAlgorithm()
    )
    # `init(null)` could mean two methods: the one that takes a store is named.
    types = gateway.new_array(jvm.java.lang.Class, 1)
    types[0] = jvm.java.lang.Class.forName("java.security.KeyStore")
    init = jvm.java.lang.Class.forName("javax.net.ssl.TrustManagerFactory").getMethod("init", types)
    init.invoke(factory, gateway.new_array(jvm.java.lang.Object, 1))
    return factory.getTrustManagers()[0].getAcceptedIssuers()
