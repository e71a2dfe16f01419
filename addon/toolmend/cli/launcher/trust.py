"""The trust stores of systems: the commands that make one trust the proxy's CA, undo that, and check it.

    system = this_system()                           None if the system is not in the table
    system.install(ca), system.uninstall(ca)         the commands to run, with sudo if they need root
    system.trusts(ca)                                whether the CA is trusted

Programs with their own stores (Firefox, Chromium on Linux: NSS; Java) ignore these; no agent is such a program.

Each system is a row with the commands of its own documentation. Nothing is changed except by these commands, so what is shown
before is what is run.
"""

import hashlib
import os
import platform
import re
import ssl
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from ...core.fastclass import value

CA = "mitmproxy-ca-cert.pem"
"""The certificate's file in mitmproxy's folder; the key is in KEY."""
KEY = "mitmproxy-ca.pem"

type Words = tuple[str, ...]
"""A command with the placeholders {ca}, {anchor}, {sha1} and {java}."""
type Commands = tuple[Words, ...]

COPY = ("install", "-D", "-m", "644", "{ca}", "{anchor}")
REMOVE = ("rm", "-f", "{anchor}")
FORGET = ("keytool", "-delete", "-noprompt", "-storepass", "changeit", "-keystore", "{java}", "-alias", "debian:toolmend.pem")
JAVA = "/etc/ssl/certs/java/cacerts"
"""The store that ca-certificates-java makes; update-ca-certificates adds certificates to it and never removes them."""
KEYCHAIN = "/Library/Keychains/System.keychain"


@value
class TrustStore:
    """A kind of trust store.

    Attributes:
        name: Its name for the user.
        systems: ID or ID_LIKE of os-release, or sys.platform.
        install: The commands that make it trust the CA.
        uninstall: The commands that undo that.
        forget: Further commands for that if the file JAVA exists.
        anchor: The file of the CA in the store; empty if the store has none.
        bundle: The file of all trusted CAs; empty if `check` is used.
        check: A command that succeeds if the CA is trusted.
        admin: Whether the commands need root.
    """

    name: str
    systems: tuple[str, ...]
    install: Commands
    uninstall: Commands
    forget: Commands = ()
    anchor: str = ""
    bundle: str = ""
    check: Words = ()
    admin: bool = True


STORES = (
    TrustStore(  # update-ca-certificates(8); only --fresh removes certificates
        "Debian, Ubuntu",
        ("debian", "ubuntu"),
        (COPY, ("update-ca-certificates",)),
        (REMOVE, ("update-ca-certificates", "--fresh")),
        forget=(FORGET,),
        anchor="/usr/local/share/ca-certificates/toolmend.crt",
        bundle="/etc/ssl/certs/ca-certificates.crt",
    ),
    TrustStore(
        "Alpine",
        ("alpine",),
        (COPY, ("update-ca-certificates",)),
        (REMOVE, ("update-ca-certificates",)),
        anchor="/usr/local/share/ca-certificates/toolmend.crt",
        bundle="/etc/ssl/certs/ca-certificates.crt",
    ),
    TrustStore(  # update-ca-trust(8)
        "Fedora, RHEL",
        ("fedora", "rhel", "centos"),
        (COPY, ("update-ca-trust",)),
        (REMOVE, ("update-ca-trust",)),
        anchor="/etc/pki/ca-trust/source/anchors/toolmend.pem",
        bundle="/etc/pki/tls/certs/ca-bundle.crt",
    ),
    TrustStore(  # update-ca-certificates(8) of ca-certificates
        "openSUSE",
        ("suse", "opensuse"),
        (COPY, ("update-ca-certificates",)),
        (REMOVE, ("update-ca-certificates",)),
        anchor="/etc/pki/trust/anchors/toolmend.pem",
        bundle="/var/lib/ca-certificates/ca-bundle.pem",
    ),
    TrustStore(  # trust(1) of p11-kit
        "Arch",
        ("arch",),
        (("trust", "anchor", "--store", "{ca}"),),
        (("trust", "anchor", "--remove", "{ca}"),),
        bundle="/etc/ssl/certs/ca-certificates.crt",
    ),
    TrustStore(  # security(1)
        "macOS",
        ("darwin",),
        (("security", "add-trusted-cert", "-d", "-r", "trustRoot", "-p", "ssl", "-p", "basic", "-k", KEYCHAIN, "{ca}"),),
        (("security", "remove-trusted-cert", "-d", "{ca}"), ("security", "delete-certificate", "-Z", "{sha1}", KEYCHAIN)),
        check=("security", "verify-cert", "-l", "-L", "-q", "-c", "{ca}"),
    ),
    TrustStore(  # learn.microsoft.com, "certutil"; -user: without an administrator
        "Windows",
        ("win32",),
        (("certutil", "-user", "-addstore", "Root", "{ca}"),),
        (("certutil", "-user", "-delstore", "Root", "{sha1}"),),
        check=("certutil", "-user", "-verifystore", "Root", "{sha1}"),
        admin=False,
    ),
)

_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----")


@value
class System:
    """The store of this system; `root` is the folder that its paths are relative to."""

    store: TrustStore
    root: Path = Path("/")

    @property
    def anchor(self) -> Path | None:
        """The installed certificate's file; None if the store keeps certificates in another form."""
        return self._place(self.store.anchor) if self.store.anchor else None

    def install(self, ca: Path) -> list[list[str]]:
        """Returns the commands in order."""
        return self._commands(self.store.install, ca)

    def uninstall(self, ca: Path) -> list[list[str]]:
        """Returns the commands in order."""
        forget = self.store.forget if self._place(JAVA).exists() else ()
        return self._commands((*self.store.uninstall, *forget), ca)

    def trusts(self, ca: Path) -> bool:
        """Returns whether the certificate in a file is trusted.

        Raises:
            OSError: The file or the store cannot be read.
        """
        if self.store.check:
            words = self._words(self.store.check, ca)
            return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False).returncode == 0
        return contains(self._place(self.store.bundle), ca)

    def _commands(self, commands: Commands, ca: Path) -> list[list[str]]:
        sudo = ["sudo"] if self.store.admin and os.name == "posix" and os.geteuid() != 0 else []
        return [[*sudo, *self._words(words, ca)] for words in commands]

    def _words(self, words: Words, ca: Path) -> list[str]:
        values = {"ca": str(ca), "anchor": str(self.anchor or ""), "java": str(self._place(JAVA))}
        if any("{sha1}" in word for word in words):
            values["sha1"] = hashlib.sha1(certificates(ca)[0], usedforsecurity=False).hexdigest().upper()
        return [word.format_map(values) for word in words]

    def _place(self, path: str) -> Path:
        return self.root / path.lstrip("/")


def this_system() -> System | None:
    """Returns the trust store of this system, or None."""
    release: Mapping[str, str] = {}
    if sys.platform == "linux":
        try:
            release = platform.freedesktop_os_release()
        except OSError:
            return None
    store = store_of(sys.platform, release)
    return System(store) if store else None


def store_of(system: str, release: Mapping[str, str]) -> TrustStore | None:
    """Returns the row of a system: `sys.platform`, and os-release(5), whose ID_LIKE names the systems it derives from."""
    names = [release.get("ID", ""), *release.get("ID_LIKE", "").split(), system]
    return next((store for name in names for store in STORES if name in store.systems), None)


def certificates(path: Path) -> list[bytes]:
    """Returns the certificates of a PEM file in DER.

    Raises:
        OSError: The file cannot be read.
        ValueError: It has no certificate.
    """
    found = [ssl.PEM_cert_to_DER_cert(text.decode()) for text in _PEM.findall(path.read_bytes())]
    if not found:
        raise ValueError(f"{path} contains no certificate")
    return found


def contains(bundle: Path, ca: Path) -> bool:
    """Returns whether a bundle contains the first certificate of a file. Raises OSError, ValueError."""
    return certificates(ca)[0] in certificates(bundle)


def fingerprint(der: bytes) -> str:
    """Returns the SHA-256 fingerprint in the usual form AB:CD:…"""
    return hashlib.sha256(der).digest().hex(":").upper()
