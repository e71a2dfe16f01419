"""The files of CAs that clients are given: what this system trusts, what the user had named, and our CA.

    trusted(os.environ, ca)                the text, PEM
    write_bundle(path, ca)                 a file of it, at a place of its own
    kept_bundle(folder, os.environ, ca)    a file that is named by what is in it, for all that need the same

Rule of this file: nothing that a client trusted before is lost. A variable that replaces a trust store names a file with
all the rest in it; a company's own CA, named in any of the variables, goes with it.
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
"""Where systems keep all their CAs in one file; the first that is there. Where Python looks there may be nothing."""

REPLACING = {
    # variable: who reads it
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
"""Variables that replace a client's trust store. Not those of git, cargo and pip: their traffic is not decrypted."""

ADDING = "NODE_EXTRA_CA_CERTS"
"""Node, Bun and what is made with them: it adds to the store, and names one file."""

UNUSED_DAYS = 30
"""A kept bundle that nobody has asked for in so long was made of CAs that are no longer those of the system."""

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def given_files(given: Mapping[str, str]) -> list[Path]:
    """The files that the variables name, each once; SSL_CERT_DIR is not ours to touch, and stays as it is."""
    named = dict.fromkeys(given[name] for name in (*REPLACING, ADDING) if given.get(name))
    return [Path(name) for name in named]


def trusted(given: Mapping[str, str], *extra: Path) -> bytes:
    """All CAs as one PEM text, each certificate once, `extra` ones last. Another file that cannot be read is left out."""
    found: dict[bytes, None] = {}
    for file in (system_file() or _certifi(), *given_files(given)):
        with suppress(OSError):
            found.update(dict.fromkeys(_CERTIFICATE.findall(file.read_bytes())))
    for file in extra:
        ours = dict.fromkeys(_CERTIFICATE.findall(file.read_bytes()))
        found = {one: None for one in found if one not in ours} | ours
    return b"\n".join(found) + b"\n"


def write_bundle(path: Path, *extra: Path, given: Mapping[str, str] = os.environ) -> Path:
    """Writes what is trusted, and `extra` CAs, into one PEM file; returns its path."""
    _write(path, trusted(given, *extra))
    return path


def kept_bundle(folder: Path, given: Mapping[str, str], *extra: Path) -> Path:
    """The same in a file whose name says what is in it: it is written once, and two that need different ones do not meet."""
    text = trusted(given, *extra)
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
    """Where this system keeps all its CAs; None where that is no one file."""
    return next((file for file in map(Path, SYSTEM) if file.is_file()), None)


def _write(path: Path, text: bytes) -> None:
    with private_file(path) as file:  # who can write a file of CAs decides what clients trust
        file.write(text)


def _certifi() -> Path:
    import certifi  # noqa: PLC0415  a system without such a file is rare

    return Path(certifi.where())
