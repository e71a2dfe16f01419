"""Checks of what is installed: Python, toolmend, mitmproxy, the addon's file, the JSON reader, the clock."""

import shlex
import sys
import time
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from ... import __version__
from ..launcher.proxy import addon_path
from .finding import Finding, Machine, fault, ok, warning

PYTHON = (3, 12)
MITMPROXY = (12, 2)
PIP = shlex.join([sys.executable, "-m", "pip", "install"])


def python(_: Machine) -> Iterator[Finding]:
    """The one that runs this, and so the proxy."""
    version = sys.version_info[:3]
    told = f"Python {'.'.join(map(str, version))}, {sys.executable}"
    needed = ".".join(map(str, PYTHON))
    if version < PYTHON:
        yield fault(f"{told}, is older than {needed}", f"uv tool install --python {needed} toolmend")
    else:
        yield ok(told)


def toolmend(_: Machine) -> Iterator[Finding]:
    """Which one this is, and whether another one is installed beside it."""
    here = Path(__file__).parents[2]
    try:
        installed = metadata.version("toolmend")
    except metadata.PackageNotFoundError:
        installed = __version__  # a checkout, not installed
    if installed != __version__:
        yield warning(f"toolmend {__version__} in {here}, but {installed} is installed", f"{PIP} --upgrade toolmend")
    else:
        yield ok(f"toolmend {__version__}, {here}")


def mitmproxy(_: Machine) -> Iterator[Finding]:
    """Whether there is one, and how old it is; that it starts is proven by the self-test."""
    needed = ".".join(map(str, MITMPROXY))
    upgrade = f"{PIP} --upgrade 'mitmproxy>={needed}'"
    try:
        version = metadata.version("mitmproxy")
    except metadata.PackageNotFoundError:
        version = ""
    if not version or find_spec("mitmproxy") is None:
        yield fault("mitmproxy is not installed for this Python", upgrade)
    elif numbers(version) < MITMPROXY:
        yield fault(f"mitmproxy {version} is older than {needed}", upgrade)
    else:
        yield ok(f"mitmproxy {version}")


def addon(_: Machine) -> Iterator[Finding]:
    """The file for `mitmdump -s`; that it loads is proven by the self-test."""
    path = addon_path()
    try:
        compile(path.read_bytes(), str(path), "exec")
    except (OSError, SyntaxError, ValueError) as error:
        yield fault(f"the addon {path} cannot be read: {error}", f"{PIP} --force-reinstall toolmend")
    else:
        yield ok(f"the addon is {path}")


def json_reader(_: Machine) -> Iterator[Finding]:
    """A faster one is used where it is there."""
    if find_spec("orjson"):
        yield ok(f"JSON is read by orjson {metadata.version('orjson')}")
    else:
        yield warning("JSON is read by the standard library, orjson is faster", f"{PIP} orjson")


def clock(_: Machine) -> Iterator[Finding]:
    """A clock that is behind makes every certificate invalid; it cannot be earlier than our own files are."""
    made = Path(__file__).stat().st_mtime
    now = time.time()
    told = time.strftime("%Y-%m-%d %H:%M", time.gmtime(now))
    if now < made - 86400:
        yield fault(f"the clock is wrong: {told} UTC is before toolmend was made", "timedatectl set-ntp true")
    else:
        yield ok(f"the clock says {told} UTC")


def numbers(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with: `12.2.3` is (12, 2, 3)."""
    found = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        found.append(int(digits))
    return tuple(found)
