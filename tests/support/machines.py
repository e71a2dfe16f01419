"""A machine that is well, and what may be wrong with it: each a function that makes it so, in folders of the test's own."""

import datetime as dt
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from toolmend.cli.doctor import Machine
from toolmend.cli.launcher.certificates import ADDING, REPLACING, write_bundle
from toolmend.cli.launcher.environment import BEFORE, NAMES, variables
from toolmend.cli.launcher.trust import CA, KEY, STORES, System

DEBIAN = next(store for store in STORES if "debian" in store.systems)
OTHER_USES = (
    *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
    *("encipher_only", "decipher_only"),
)
CLEARED = (*NAMES, *REPLACING, ADDING, BEFORE, "XDG_DATA_HOME", "XDG_CONFIG_HOME")


def make_ca(folder: Path, first: int = -1, last: int = 3650, name: str = "mitmproxy") -> None:
    """A CA in the files that mitmproxy has, valid from and until so many days from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + dt.timedelta(days=first))
        .not_valid_after(now + dt.timedelta(days=last))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.KeyUsage(key_cert_sign=True, crl_sign=True, **dict.fromkeys(OTHER_USES, False)), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    kinds = serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    folder.mkdir(0o700, parents=True, exist_ok=True)
    (folder / KEY).touch(0o600)
    (folder / KEY).write_bytes(key.private_bytes(serialization.Encoding.PEM, *kinds) + pem)
    (folder / CA).write_bytes(pem)


@dataclass
class Box:
    """A machine in a folder: a home, a system's root, a PATH without programs."""

    folder: Path
    patch: pytest.MonkeyPatch
    stack: ExitStack
    port: int = 0
    config: Path | None = None

    @property
    def confdir(self) -> Path:
        return self.folder / "home/.mitmproxy"

    @property
    def ca(self) -> Path:
        return self.confdir / CA

    @property
    def system(self) -> System:
        return System(DEBIAN, self.folder / "root")

    @property
    def machine(self) -> Machine:
        return Machine(dict(os.environ), self.confdir, self.system, self.config, self.port)

    def set(self, **values: str) -> None:
        for name, value in values.items():
            self.patch.setenv(name, value)

    def listener(self) -> int:
        """The port of somebody who takes connections."""
        server = self.stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port: int = server.getsockname()[1]
        return port

    def proxied(self, **but: str) -> None:
        """The shell is sent through a proxy, with all that it takes."""
        bundle = write_bundle(self.folder / "bundle.pem", self.ca, given={})
        self.set(**variables(f"http://127.0.0.1:{self.listener()}", self.ca, bundle, {}) | but)

    def program(self, name: str, says: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\necho '{says}'\n")
        path.chmod(0o755)

    def settings(self, text: str) -> None:
        self.config = self.folder / "toolmend.toml"
        self.config.write_text(text)


@contextmanager
def well(folder: Path) -> Iterator[Box]:
    """A machine on which nothing is wrong."""
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        for name in (*CLEARED, *(name for name in os.environ if name.startswith("TOOLMEND_"))):
            patch.delenv(name, raising=False)
        for name in ("home", "bin", "root/etc/ssl/certs", "work"):
            (folder / name).mkdir(parents=True)
        patch.setenv("HOME", str(folder / "home"))
        patch.setenv("PATH", str(folder / "bin"))
        patch.chdir(folder / "work")
        make_ca(folder / "other", name="another CA")
        shutil.copy(folder / "other" / CA, folder / "root" / DEBIAN.bundle.lstrip("/"))
        box = Box(folder, patch, stack)
        make_ca(box.confdir)
        yield box


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with well(tmp_path) as box:
        yield box


def _no_ca(box: Box) -> None:
    shutil.rmtree(box.confdir)
