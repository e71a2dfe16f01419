"""The trust stores of systems: how one is made to trust the proxy's CA, how that is undone, and how it is seen.

    system = here()                                  None where the system is not in the table
    system.install(ca), system.uninstall(ca)         what is to be run, by sudo where it takes root
    system.trusts(ca)                                whether that has worked

Programs with stores of their own (Firefox, Chromium on Linux: NSS; Java) heed none of this; no agent is such a program.

Rule of this file: a system is a row, and its commands are those of its own documentation; nothing is changed here but by
them, so what is shown before is what is run.
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
"""The certificate in mitmproxy's folder; the key is in KEY."""
KEY = "mitmproxy-ca.pem"

type Words = tuple[str, ...]
"""A command, in which {ca}, {anchor}, {sha1}, {java} stand for what they say."""
type Commands = tuple[Words, ...]

COPY = ("install", "-D", "-m", "644", "{ca}", "{anchor}")
REMOVE = ("rm", "-f", "{anchor}")
FORGET = ("keytool", "-delete", "-noprompt", "-storepass", "changeit", "-keystore", "{java}", "-alias", "debian:toolmend.pem")
JAVA = "/etc/ssl/certs/java/cacerts"
"""What ca-certificates-java makes of the certificates; update-ca-certificates adds to it, and takes nothing from it."""
KEYCHAIN = "/Library/Keychains/System.keychain"


@value
class TrustStore:
    """`systems`: ID or ID_LIKE of os-release, or sys.platform. `anchor`: the file that is ours, "" if the store has none.

    `forget`: what else undoes it, where the file JAVA is there.

    What is trusted stands in the file `bundle`, or `check` ends with 0. `admin`: the commands are for root.
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
    TrustStore(  # update-ca-certificates(8); what was removed goes with --fresh only
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
    TrustStore(  # learn.microsoft.com, "certutil"; -user: no administrator is needed
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
    """The store of this system; `root` is where its files are looked for."""

    store: TrustStore
    root: Path = Path("/")

    @property
    def anchor(self) -> Path | None:
        """Where our certificate lies once it is installed; None if the store keeps it in its own way."""
        return self._place(self.store.anchor) if self.store.anchor else None

    def install(self, ca: Path) -> list[list[str]]:
        """The commands, in this order."""
        return self._commands(self.store.install, ca)

    def uninstall(self, ca: Path) -> list[list[str]]:
        """The commands, in this order."""
        forget = self.store.forget if self._place(JAVA).exists() else ()
        return self._commands((*self.store.uninstall, *forget), ca)

    def trusts(self, ca: Path) -> bool:
        """Whether the certificate in a file is trusted. Raises OSError where it, or the store, cannot be read."""
        if self.store.check:
            words = self._words(self.store.check, ca)
            return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False).returncode == 0
        return holds(self._place(self.store.bundle), ca)

    def _commands(self, wanted: Commands, ca: Path) -> list[list[str]]:
        sudo = ["sudo"] if self.store.admin and os.name == "posix" and os.geteuid() != 0 else []
        return [[*sudo, *self._words(words, ca)] for words in wanted]

    def _words(self, words: Words, ca: Path) -> list[str]:
        known = {"ca": str(ca), "anchor": str(self.anchor or ""), "java": str(self._place(JAVA))}
        if any("{sha1}" in word for word in words):
            known["sha1"] = hashlib.sha1(certificates(ca)[0], usedforsecurity=False).hexdigest().upper()
        return [word.format_map(known) for word in words]

    def _place(self, path: str) -> Path:
        return self.root / path.lstrip("/")


def here() -> System | None:
    """The system that we are on."""
    release: Mapping[str, str] = {}
    if sys.platform == "linux":
        try:
            release = platform.freedesktop_os_release()
        except OSError:
            return None
    store = store_of(sys.platform, release)
    return System(store) if store else None


def store_of(system: str, release: Mapping[str, str]) -> TrustStore | None:
    """The row of a system: `sys.platform`, and os-release(5), whose ID_LIKE names what it is made from."""
    names = [release.get("ID", ""), *release.get("ID_LIKE", "").split(), system]
    return next((store for name in names for store in STORES if name in store.systems), None)


def certificates(path: Path) -> list[bytes]:
    """The certificates of a PEM file, in DER. Raises OSError; and ValueError where there is none."""
    found = [ssl.PEM_cert_to_DER_cert(text.decode()) for text in _PEM.findall(path.read_bytes())]
    if not found:
        raise ValueError(f"{path} holds no certificate")
    return found


def holds(bundle: Path, ca: Path) -> bool:
    """Whether a file of certificates has that of another. Raises OSError, ValueError."""
    return certificates(ca)[0] in certificates(bundle)


def fingerprint(der: bytes) -> str:
    """SHA-256, as other programs show it: AB:CD:…"""
    return hashlib.sha256(der).digest().hex(":").upper()
