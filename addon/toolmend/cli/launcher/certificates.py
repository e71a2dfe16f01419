"""CA bundles for clients: what the system trusts, what the user's variables name, and the proxy's CA.

    ca_pem(os.environ, ca)                   the text, PEM
    write_bundle(path, ca)                   a file with it, at this path
    cached_bundle(folder, os.environ, ca)    a file named by its content, shared by all that need the same

No CA that a client trusted before is lost: a variable that replaces a trust store gets a file with all others in it, including a
company's own CA that any of the variables names.
"""

import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from ...config.data_folder import private
from ...config.private_file import private_file

SYSTEM = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Arch, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # macOS, BSD
)
"""Files with all CAs of a system; the first that exists is used. Python's default location may be empty."""

REPLACING = {
    # variable: its readers
    "SSL_CERT_FILE": "OpenSSL, Python's ssl, httpx (so the SDKs of OpenAI and Anthropic), Go, rustls, Ruby",
    "REQUESTS_CA_BUNDLE": "requests, which does not read SSL_CERT_FILE; also botocore",
    "CURL_CA_BUNDLE": "curl that is built without OpenSSL",
    "CODEX_CA_CERTIFICATE": "Codex, before SSL_CERT_FILE",
    "DENO_CERT": "Deno",
    "AWS_CA_BUNDLE": "the AWS SDKs (Bedrock), before REQUESTS_CA_BUNDLE",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": "gRPC, which Gemini's Python SDK can speak",
    "HTTPLIB2_CA_CERTS": "httplib2, Google's older client",
    "NIX_SSL_CERT_FILE": "what Nix has built, before SSL_CERT_FILE",
}
"""Variables that replace a client's trust store. Those of git, cargo and pip are left alone: their traffic is not decrypted."""

ADDING = "NODE_EXTRA_CA_CERTS"
"""The variable of Node, Bun and programs made with them: it adds one file to the store."""

UNUSED_DAYS = 30
"""Days after which an unused bundle is removed: it was made of an older set of the system's CAs."""

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def named_files(given: Mapping[str, str]) -> list[Path]:
    """Returns the files that the variables name, without duplicates. SSL_CERT_DIR is never changed."""
    named = dict.fromkeys(given[name] for name in (*REPLACING, ADDING) if given.get(name))
    return [Path(name) for name in named]


def ca_pem(given: Mapping[str, str], *extra: Path) -> bytes:
    """Returns all CAs as one PEM text, each once, `extra` last. A file of `given` that cannot be read is left out."""
    found: dict[bytes, None] = {}
    for file in (system_file() or _certifi(), *named_files(given)):
        with suppress(OSError):
            found.update(dict.fromkeys(_CERTIFICATE.findall(file.read_bytes())))
    for file in extra:
        ours = dict.fromkeys(_CERTIFICATE.findall(file.read_bytes()))
        found = {one: None for one in found if one not in ours} | ours
    return b"\n".join(found) + b"\n"


def write_bundle(path: Path, *extra: Path, given: Mapping[str, str] = os.environ) -> Path:
    """Writes all CAs and `extra` into one PEM file; returns its path."""
    _write(path, ca_pem(given, *extra))
    return path


def cached_bundle(folder: Path, given: Mapping[str, str], *extra: Path) -> Path:
    """Writes the same to a file whose name is a hash of its content, if it does not exist; returns its path."""
    text = ca_pem(given, *extra)
    path = folder / f"ca-bundle-{sha256(text).hexdigest()[:12]}.pem"
    private(folder)
    if path.exists():
        os.utime(path)
        return path
    _write(path, text)
    for old in folder.glob("ca-bundle-*.pem"):
        with suppress(OSError):
            if time.time() - old.stat().st_mtime > UNUSED_DAYS * 86400:
                old.unlink()
    return path


def system_file() -> Path | None:
    """Returns the file with all CAs of this system, or None."""
    return next((file for file in map(Path, SYSTEM) if file.is_file()), None)


def _write(path: Path, text: bytes) -> None:
    with private_file(path) as file:  # whoever can write it decides what clients trust
        file.write(text)


def _certifi() -> Path:
    import certifi  # noqa: PLC0415  most systems have such a file

    return Path(certifi.where())
