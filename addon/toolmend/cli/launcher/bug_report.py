"""Collects the files of a bug report: a few small files, redacted and scanned for secrets.

    about.json      versions, the system               doctor.json    the findings of `toolmend doctor`
    settings.json   the settings, and their sources    log.txt        the end of the background proxy's log
    recording/…     one exchange, if requested; its conversation is replaced by filler, unless that is requested, too

Nothing is written here. No file has a key: settings name where a key comes from, and everything that looks like one is masked
before the final scan.
"""

import io
import platform
import sys
import zipfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from ... import __version__
from ...config import precedence
from ...config.checks import SettingsError
from ...core import json_text
from ...recordings.read.secret_scan import SecretFinding, credentials, scan
from ...secrets.redactor import Redactor, keyless

PACKAGES = ("mitmproxy", "cryptography", "h11", "h2", "brotli", "zstandard", "click", "rich", "orjson", "aioquic")
"""Packages that handle streams or commands."""

LINES = 200
"""Lines of the log that are kept."""

FILES = {
    "about.json": "versions and system",
    "doctor.json": "the findings of toolmend doctor",
    "settings.json": "the settings, and their sources; no keys",
    "log.txt": "the end of the background proxy's log",
    "recording/": "the exchange",
}
"""Descriptions for the user."""


def collect(doctor: Mapping[str, Any], log: str, recording: Mapping[str, bytes], environ: Mapping[str, str]) -> dict[str, bytes]:
    """Returns the files of a report, redacted.

    Args:
        doctor: The `--json` output of the doctor.
        log: The background proxy's log.
        recording: Files as `promotion.prepare` makes them.
        environ: Variables whose values are masked if they look like credentials.
    """
    secrets = [value for _, value in credentials(environ)]
    redactor = Redactor(secrets)
    given = {"about.json": versions(), "doctor.json": doctor, "settings.json": settings()}
    files = {name: json_text.lines(redactor.value(value)) for name, value in given.items()}
    if log:
        files["log.txt"] = "".join(log.splitlines(keepends=True)[-LINES:]).encode(errors="replace")
        files["log.txt"] = redactor.text(keyless(files["log.txt"].decode())).encode()
    home = str(Path.home()).encode()
    files = {name: data.replace(home, b"~") for name, data in files.items()}
    return files | {f"recording/{name}": data for name, data in recording.items()}


def versions() -> dict[str, Any]:
    """Returns versions and the system."""
    return {
        "toolmend": __version__,
        "python": sys.version,
        "system": platform.platform(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
    }


def settings() -> dict[str, Any]:
    """Returns the settings with their sources; for a route's key only its source."""
    try:
        given = precedence.everywhere({})
    except SettingsError as error:
        return {"error": str(error)}
    return {
        "set": {key: {"text": setting.text, "by": setting.origin} for key, setting in given.given.items() if setting.text},
        "files": [str(file.path) for file in given.files],
        "providers": [profile.name for profile in given.providers],
        "routes": [
            {
                "from": route.source,
                "model": route.model,
                "to": route.target,
                "api": route.upstream,
                "use_model": route.use_model,
                "credential": route.key_from or None,
                "tools": "prompt" if route.template else "native",
            }
            for route in given.routes
        ],
    }


def find_secrets(files: Mapping[str, bytes], environ: Mapping[str, str]) -> list[SecretFinding]:
    """Returns what looks like a secret. message.json is left out: it repeats what the client got."""
    return scan({name: data for name, data in files.items() if not name.endswith("/message.json")}, environ)


def zip_archive(files: Mapping[str, bytes]) -> bytes:
    """Returns the files as a ZIP archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(f"toolmend-report/{name}", data)
    return out.getvalue()


def description(name: str) -> str:
    """Returns the description of a file."""
    return FILES.get(name) or FILES["recording/"]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
