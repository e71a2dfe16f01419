"""Checks of the CA: whether it exists, its key is protected, and what trusts it.

Clients get the certificate from CA, and the proxy signs with the one in KEY: they must be the same.
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
"""A file with fewer certificates is not a system's trust store."""
SOON = timedelta(days=14)


def certificate(machine: Machine) -> Iterator[Finding]:
    """Checks the certificate: it exists, can be read, and is valid today."""
    path = machine.ca
    recreate = f"mv {_quoted(machine.confdir)} {_quoted(machine.confdir)}.old && toolmend ca path"
    try:
        (der, *_) = certificates(path)
        first, last = _dates(path)
    except FileNotFoundError:
        yield warning(f"no CA in {machine.confdir} yet: the proxy creates it when it starts", "toolmend ca path")
    except OSError as error:
        yield fault(f"the CA {path} cannot be read: {error.strerror or error}", f"sudo chown -R $USER {_quoted(machine.confdir)}")
    except (ValueError, ssl.SSLError):
        yield fault(f"the CA {path} is not a certificate", recreate)
    else:
        now = datetime.now(UTC)
        if now > last:
            yield fault(f"the CA {path} has expired on {last:%Y-%m-%d}", f"{recreate}  (and toolmend ca install, where it was)")
        elif now < first:
            yield fault(f"the CA {path} is not valid before {first:%Y-%m-%d}: is the clock right?", "timedatectl set-ntp true")
        elif now > last - SOON:
            yield warning(f"the CA {path} expires on {last:%Y-%m-%d}", f"{recreate}  (and toolmend ca install, where it was)")
        else:
            yield ok(f"the CA {path} is valid until {last:%Y-%m-%d}, SHA-256 {fingerprint(der)[:23]}…")


def key(machine: Machine) -> Iterator[Finding]:
    """Checks the key: whoever has it can impersonate any host to clients that trust the CA."""
    path = machine.confdir / KEY
    try:
        mode = path.stat().st_mode
        signing = certificates(path)[0]
    except FileNotFoundError:
        if machine.ca.exists():
            yield fault(
                f"{machine.ca} exists, but its key {path} does not: the proxy would create another CA",
                f"rm {_quoted(machine.ca)} && toolmend ca path",
            )
        else:
            yield ok("the CA has no key yet")
        return
    except (OSError, ValueError) as error:
        reason = (error.strerror or error) if isinstance(error, OSError) else error
        yield fault(f"the CA's key cannot be read: {reason}: {path}", f"sudo chown $USER {_quoted(path)}")
        return
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield fault(f"others can read the CA's key {path}", f"chmod 600 {_quoted(path)}")
    elif _first(machine.ca) not in (None, signing):
        yield fault(
            f"the proxy signs with {path}, which differs from the CA in {CA} that clients get",
            f"openssl x509 -in {_quoted(path)} -out {_quoted(machine.ca)}",
        )
    else:
        yield ok("only the owner can read the CA's key")


def store(machine: Machine) -> Iterator[Finding]:
    """Checks whether the system trusts the CA, which `toolmend run` does not need."""
    system = machine.system
    if system is None:
        yield ok("this system's trust store is unknown; toolmend run does not need it")
        return
    name, anchor = system.store.name, system.anchor
    try:
        own = _first(machine.ca)
        trusted = own is not None and system.trusts(machine.ca)
        other = anchor is not None and anchor.exists() and _first(anchor) != own
    except Exception as error:  # a missing program of the system, a file that is not a certificate
        yield warning(f"the trust store ({name}) cannot be read: {error}", "toolmend ca install --dry-run")
        return
    if other:
        yield fault(f"the system trusts another CA than this proxy's: {anchor}", "toolmend ca uninstall && toolmend ca install")
    elif trusted:
        yield ok(f"the system ({name}) trusts the CA")
    else:
        yield ok(f"the system ({name}) does not trust the CA; toolmend run does not need it to (else: toolmend ca install)")


def variables(machine: Machine) -> Iterator[Finding]:
    """Checks the variables of this shell that name files of CAs."""
    given = {name: machine.environ.get(name, "").strip() for name in (*REPLACING, ADDING)}
    files: dict[str, list[str]] = {}
    for name, value in given.items():
        if value:
            files.setdefault(value, []).append(name)
    uses_local_proxy, right = machine.uses_local_proxy(), True
    for value, names in files.items():
        for finding in _file(machine, Path(value), names, uses_local_proxy=uses_local_proxy):
            right = False
            yield finding
    missing = [name for name in ("SSL_CERT_FILE", ADDING) if not given[name]]
    if uses_local_proxy and missing and not is_trusted(machine):
        yield warning(
            f"this shell points to a proxy, but {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set: "
            "programs reject its certificates",
            'eval "$(toolmend env)"',
        )
    elif right:
        named = [name for names in files.values() for name in names]
        yield ok(f"CAs are set by {', '.join(named)}" if named else "no variable of this shell names CAs")


def _file(machine: Machine, path: Path, names: list[str], *, uses_local_proxy: bool) -> Iterator[Finding]:
    """Yields what is wrong with a file that these variables name."""
    subject, unset = " and ".join(names), f"unset {' '.join(names)}"
    try:
        found = certificates(path)
    except OSError as error:
        yield fault(f"{subject}: {path} cannot be read: {error.strerror or error}", unset)
        return
    except ValueError:
        yield fault(f"{subject}: {path} contains no certificate", unset)
        return
    if not uses_local_proxy:
        return
    own = _first(machine.ca)
    if own not in found:
        kind = fault if machine.is_set_by_toolmend else warning
        yield kind(f"{subject}: {path} does not contain the proxy's CA", 'eval "$(toolmend env)"')
    elif len(found) < FEW and (replacing := [name for name in names if name in REPLACING]):
        count = "only the proxy's CA" if len(found) == 1 else f"only {len(found)} CAs"
        wrong = f"{path} contains {count} and replaces the system's: programs reject hosts that are not intercepted"
        yield warning(f"{' and '.join(replacing)}: {wrong}", 'eval "$(toolmend env)"')


def is_trusted(machine: Machine) -> bool:
    """Returns whether the system trusts the CA; False if that cannot be found out."""
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
    """Returns the begin and end of a certificate's validity."""
    from cryptography import x509  # noqa: PLC0415  slow to import

    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    return certificate.not_valid_before_utc, certificate.not_valid_after_utc


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
