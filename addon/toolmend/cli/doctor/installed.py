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
    """Checks the Python that runs this, and so the proxy."""
    version = sys.version_info[:3]
    subject = f"Python {'.'.join(map(str, version))}, {sys.executable}"
    needed = ".".join(map(str, PYTHON))
    if version < PYTHON:
        yield fault(f"{subject}, is older than {needed}", f"uv tool install --python {needed} toolmend")
    else:
        yield ok(subject)


def toolmend(_: Machine) -> Iterator[Finding]:
    """Checks whether another version of toolmend is installed, too."""
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
    """Checks mitmproxy's version; the self-test proves that it starts."""
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
    """Checks the file for `mitmdump -s`; the self-test proves that it loads."""
    path = addon_path()
    try:
        compile(path.read_bytes(), str(path), "exec")
    except (OSError, SyntaxError, ValueError) as error:
        yield fault(f"the addon {path} cannot be read: {error}", f"{PIP} --force-reinstall toolmend")
    else:
        yield ok(f"the addon is {path}")


def json_reader(_: Machine) -> Iterator[Finding]:
    """Checks whether the faster JSON parser is installed."""
    if find_spec("orjson"):
        yield ok(f"JSON is parsed by orjson {metadata.version('orjson')}")
    else:
        yield warning("JSON is parsed by the standard library, orjson is faster", f"{PIP} orjson")


def clock(_: Machine) -> Iterator[Finding]:
    """Checks that the clock is not earlier than toolmend's own files: a late clock makes every certificate invalid."""
    made = Path(__file__).stat().st_mtime
    now = time.time()
    subject = time.strftime("%Y-%m-%d %H:%M", time.gmtime(now))
    if now < made - 86400:
        yield fault(f"the clock is wrong: {subject} UTC is before toolmend was built", "timedatectl set-ntp true")
    else:
        yield ok(f"the clock is at {subject} UTC")


def numbers(version: str) -> tuple[int, ...]:
    """Returns the leading numbers of a version: `12.2.3` is (12, 2, 3)."""
    found = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        found.append(int(digits))
    return tuple(found)
