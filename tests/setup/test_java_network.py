"""Kafka's jars behind a company's proxy: Java trusts whom the machine trusts, and goes where the machine goes."""

import os
import ssl

import pytest

from minikafka.jvm import java_home, java_network, kafka_jars
from tests.setup.repository import COORDINATES, proxy, tls_repository, write_certificates


@pytest.fixture
def plain_network(monkeypatch, tmp_path):
    """No variable of this machine says anything of certificates or proxies; the cache is empty."""
    for name in (*java_network.BUNDLE_VARIABLES, "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MINIKAFKA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(kafka_jars.COORDINATES, "storage", (COORDINATES,))
    monkeypatch.setattr(kafka_jars, "is_as_published", lambda jar: True)
    monkeypatch.setattr(kafka_jars, "jars_of", lambda part: {"org.example_tiny-1.0.jar"})


@pytest.fixture(params=["the machine's Java", "the wheel's Java"])
def each_java(request, monkeypatch):
    if request.param == "the wheel's Java":
        monkeypatch.setattr(java_home, "system_java_home", lambda: None)


@pytest.mark.slow
def test_a_certificate_that_the_machine_is_told_of_is_trusted(plain_network, each_java, monkeypatch, tmp_path):
    with tls_repository(tmp_path) as port:
        monkeypatch.setenv("DEFAULT_ARTIFACT_REPOSITORY", f"https://localhost:{port}/")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "company.pem"))
        assert any(jar.endswith("org.example_tiny-1.0.jar") for jar in kafka_jars.fetch("storage"))


@pytest.mark.slow
def test_an_unknown_certificate_is_named_in_one_line_with_what_to_do(plain_network, each_java, monkeypatch, tmp_path):
    with tls_repository(tmp_path) as port:
        address = f"https://localhost:{port}/"
        monkeypatch.setenv("DEFAULT_ARTIFACT_REPOSITORY", address)
        with pytest.raises(kafka_jars.KafkaJarsUnavailableError) as raised:
            kafka_jars.fetch("storage")
    said = str(raised.value)
    assert "\n" not in said and address in said
    assert "unable to find valid certification path" in said and "let SSL_CERT_FILE name a file (PEM)" in said


@pytest.mark.slow
def test_the_way_leads_through_the_proxy_that_the_machine_is_told_of(plain_network, monkeypatch, tmp_path):
    with tls_repository(tmp_path, "maven.example") as port, proxy(to=port) as (proxy_port, asked):
        monkeypatch.setenv("DEFAULT_ARTIFACT_REPOSITORY", "https://maven.example/")
        monkeypatch.setenv("HTTPS_PROXY", f"http://localhost:{proxy_port}")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "company.pem"))
        assert any(jar.endswith("org.example_tiny-1.0.jar") for jar in kafka_jars.fetch("storage"))
    assert set(asked) == {"maven.example:443"}


@pytest.mark.slow
@pytest.mark.parametrize("variable", java_network.BUNDLE_VARIABLES)
def test_each_variable_that_names_a_bundle_is_heard(plain_network, variable, monkeypatch, tmp_path):
    write_certificates(tmp_path, "localhost")
    company = ssl.PEM_cert_to_DER_cert((tmp_path / "company.pem").read_text())
    assert company not in java_network.trusted_certificates()
    monkeypatch.setenv(variable, str(tmp_path / "company.pem"))
    assert company in java_network.trusted_certificates()


@pytest.mark.slow
def test_what_is_no_bundle_does_no_harm(plain_network, monkeypatch, tmp_path):
    known = java_network.trusted_certificates()
    (tmp_path / "nothing.pem").write_text("no certificate")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "nothing.pem"))
    monkeypatch.setenv("CURL_CA_BUNDLE", str(tmp_path / "absent.pem"))
    assert java_network.trusted_certificates() == known
    assert all(ssl.DER_cert_to_PEM_cert(each) for each in known)


THROUGH_PORT_80 = {"https.proxyHost": "proxy", "https.proxyPort": "80"}
BUT_NEAR = {"http.nonProxyHosts": "near|*.near|corp.example|*.corp.example"}


@pytest.mark.parametrize(
    ("variables", "properties"),
    [
        ({}, {}),
        ({"HTTP_PROXY": "http://proxy:3128"}, {}),
        ({"https_proxy": "http://proxy"}, THROUGH_PORT_80),
        ({"HTTPS_PROXY": "http://proxy:80", "NO_PROXY": "near, .corp.example"}, THROUGH_PORT_80 | BUT_NEAR),
    ],
)
def test_a_proxy_in_javas_words(plain_network, monkeypatch, variables, properties):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert java_network.proxy_properties() == properties
