"""Checks of the CA: is it made, is its key kept, who trusts it.

Clients take the certificate from CA, the proxy signs with what stands in KEY: it must be the same one.
"""

import os
import shlex
import ssl
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ..launcher.certificates import ADDING, REPLACING
from ..launcher.trust import CA, KEY, certificates, fingerprint
from .finding import Finding, Machine, fault, ok, warning

FEW = 20
"""Certificates: a file with fewer is no trust store of a system."""
SOON = timedelta(days=14)


def certificate(machine: Machine) -> Iterator[Finding]:
    """The certificate: made, readable, of today."""
    path = machine.ca
    anew = f"mv {_quoted(machine.confdir)} {_quoted(machine.confdir)}.old && toolmend ca path"
    try:
        (der, *_) = certificates(path)
        first, last = _dates(path)
    except FileNotFoundError:
        yield warning(f"there is no CA in {machine.confdir} yet, the proxy makes it when it starts", "toolmend ca path")
    except OSError as error:
        yield fault(f"the CA {path} cannot be read: {error.strerror or error}", f"sudo chown -R $USER {_quoted(machine.confdir)}")
    except (ValueError, ssl.SSLError):
        yield fault(f"the CA {path} is no certificate", anew)
    else:
        now = datetime.now(UTC)
        if now > last:
            yield fault(f"the CA {path} has expired on {last:%Y-%m-%d}", f"{anew}  (and toolmend ca install, where it was)")
        elif now < first:
            yield fault(f"the CA {path} is not valid before {first:%Y-%m-%d}: is the clock right?", "timedatectl set-ntp true")
        elif now > last - SOON:
            yield warning(f"the CA {path} expires on {last:%Y-%m-%d}", f"{anew}  (and toolmend ca install, where it was)")
        else:
            yield ok(f"the CA {path} is valid until {last:%Y-%m-%d}, SHA-256 {fingerprint(der)[:23]}…")


def key(machine: Machine) -> Iterator[Finding]:
    """The key: who has it can pretend to be any host to who trusts the CA."""
    path = machine.confdir / KEY
    try:
        mode = path.stat().st_mode
        signing = certificates(path)[0]
    except FileNotFoundError:
        if machine.ca.exists():
            yield fault(
                f"{machine.ca} is there, but its key {path} is not: the proxy would make another CA",
                f"rm {_quoted(machine.ca)} && toolmend ca path",
            )
        else:
            yield ok("there is no key yet")
        return
    except (OSError, ValueError) as error:
        reason = (error.strerror or error) if isinstance(error, OSError) else error
        yield fault(f"the CA's key cannot be read: {reason}: {path}", f"sudo chown $USER {_quoted(path)}")
        return
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield fault(f"others can read the CA's key {path}", f"chmod 600 {_quoted(path)}")
    elif _first(machine.ca) not in (None, signing):
        yield fault(
            f"the proxy signs with {path}, which is not the CA in {CA} that clients are given",
            f"openssl x509 -in {_quoted(path)} -out {_quoted(machine.ca)}",
        )
    else:
        yield ok("the CA's key is readable for its owner alone")


def store(machine: Machine) -> Iterator[Finding]:
    """Whether the system trusts the CA: nobody needs that who uses `toolmend run`."""
    system = machine.system
    if system is None:
        yield ok("this system's trust store is not known; toolmend run needs none")
        return
    name, anchor = system.store.name, system.anchor
    try:
        ours = _first(machine.ca)
        trusted = ours is not None and system.trusts(machine.ca)
        other = anchor is not None and anchor.exists() and _first(anchor) != ours
    except Exception as error:  # a program of the system's that is not there, a file that is none
        yield warning(f"the trust store ({name}) cannot be read: {error}", "toolmend ca install --dry-run")
        return
    if other:
        yield fault(f"the system trusts another CA than this proxy's: {anchor}", "toolmend ca uninstall && toolmend ca install")
    elif trusted:
        yield ok(f"the system ({name}) trusts the CA")
    else:
        yield ok(f"the system ({name}) does not trust the CA; toolmend run needs no such thing (else: toolmend ca install)")


def variables(machine: Machine) -> Iterator[Finding]:
    """The variables of this shell that name files of CAs."""
    given = {name: machine.environ.get(name, "").strip() for name in (*REPLACING, ADDING)}
    files: dict[str, list[str]] = {}
    for name, value in given.items():
        if value:
            files.setdefault(value, []).append(name)
    through_us, right = machine.through_us(), True
    for value, names in files.items():
        for finding in _file(machine, Path(value), names, through_us=through_us):
            right = False
            yield finding
    missing = [name for name in ("SSL_CERT_FILE", ADDING) if not given[name]]
    if through_us and missing and not is_trusted(machine):
        yield warning(
            f"this shell points to a proxy, but {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set: "
            "programs refuse its certificates",
            'eval "$(toolmend env)"',
        )
    elif right:
        named = [name for names in files.values() for name in names]
        yield ok(f"CAs are named by {', '.join(named)}" if named else "no variable of this shell names CAs")


def _file(machine: Machine, path: Path, names: list[str], *, through_us: bool) -> Iterator[Finding]:
    """What is wrong with a file that these variables name."""
    told, unset = " and ".join(names), f"unset {' '.join(names)}"
    try:
        found = certificates(path)
    except OSError as error:
        yield fault(f"{told}: {path} cannot be read: {error.strerror or error}", unset)
        return
    except ValueError:
        yield fault(f"{told}: {path} holds no certificate", unset)
        return
    if not through_us:
        return
    ours = _first(machine.ca)
    if ours not in found:
        kind = fault if machine.sent else warning
        yield kind(f"{told}: {path} does not hold the proxy's CA", 'eval "$(toolmend env)"')
    elif len(found) < FEW and (replacing := [name for name in names if name in REPLACING]):
        count = "our CA alone" if len(found) == 1 else f"{len(found)} CAs alone"
        wrong = f"{path} holds {count}, and replaces the system's: hosts that are not intercepted are refused"
        yield warning(f"{' and '.join(replacing)}: {wrong}", 'eval "$(toolmend env)"')


def is_trusted(machine: Machine) -> bool:
    """Whether the system trusts the CA; if that cannot be told, it does not."""
    try:
        return machine.system is not None and machine.system.trusts(machine.ca)
    except Exception:
        return False


def _first(path: Path) -> bytes | None:
    try:
        return certificates(path)[0]
    except (OSError, ValueError):
        return None


def _dates(path: Path) -> tuple[datetime, datetime]:
    """From when until when a certificate is valid."""
    from cryptography import x509  # noqa: PLC0415  slow to import

    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    return certificate.not_valid_before_utc, certificate.not_valid_after_utc


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
