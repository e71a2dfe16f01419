"""What a report of a bug needs, without what is nobody's business: a few small files, redacted, and searched for secrets.

    about.json      versions, the system               doctor.json    what `toolmend doctor` finds
    settings.json   what is set, and where             log.txt        the last lines of the proxy in the background
    recording/…     one exchange, if asked for; what was said in it is filler, unless that is asked for too

Rule of this file: it collects, and writes nothing. Keys are in none of it: settings name where a key comes from, and whatever
looks like one is taken out before the search that has the last word.
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
"""What a stream goes through, or a command."""

LINES = 200
"""Of the log."""

FILES = {
    "about.json": "versions and system",
    "doctor.json": "what toolmend doctor finds",
    "settings.json": "what is set, and where; no keys",
    "log.txt": "the last lines of the proxy in the background",
    "recording/": "the exchange",
}
"""What each is, for who is asked."""


def collect(doctor: Mapping[str, Any], log: str, recording: Mapping[str, bytes], environ: Mapping[str, str]) -> dict[str, bytes]:
    """The files of a report, redacted. `doctor`: what its `--json` says. `recording`: files as `promotion.prepare` makes them."""
    secrets = [value for _, value in credentials(environ)]
    redactor = Redactor(secrets)
    given = {"about.json": about(), "doctor.json": doctor, "settings.json": settings()}
    files = {name: json_text.lines(redactor.value(value)) for name, value in given.items()}
    if log:
        files["log.txt"] = "".join(log.splitlines(keepends=True)[-LINES:]).encode(errors="replace")
        files["log.txt"] = redactor.text(keyless(files["log.txt"].decode())).encode()
    home = str(Path.home()).encode()
    files = {name: data.replace(home, b"~") for name, data in files.items()}
    return files | {f"recording/{name}": data for name, data in recording.items()}


def about() -> dict[str, Any]:
    """Versions, and what they run on."""
    return {
        "toolmend": __version__,
        "python": sys.version,
        "system": platform.platform(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
    }


def settings() -> dict[str, Any]:
    """What is set, each with where; of a route's key where it comes from."""
    try:
        given = precedence.everywhere({})
    except SettingsError as error:
        return {"error": str(error)}
    return {
        "set": {key: {"text": said.text, "by": said.origin} for key, said in given.given.items() if said.text},
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


def search(files: Mapping[str, bytes], environ: Mapping[str, str]) -> list[SecretFinding]:
    """What looks like a secret in them; what the client got says what message.json says."""
    return scan({name: data for name, data in files.items() if not name.endswith("/message.json")}, environ)


def packed(files: Mapping[str, bytes]) -> bytes:
    """The files as a ZIP archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(f"toolmend-report/{name}", data)
    return out.getvalue()


def what(name: str) -> str:
    """What a file of a report is."""
    return FILES.get(name) or FILES["recording/"]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
