"""A recording as one page that needs nothing else: it opens from a disk, and asks no network for anything.

    render(view.document(…)) → "<!doctype html>…"

Rule of this file: what was recorded is data, never markup: it stands in a block of JSON in which `<`, `>` and `&` are escapes,
and the script makes text of it, and nothing but text. The policy in the head allows this style and this script by their hashes,
and no other, so that nothing else would run even so.
"""

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

SCRIPTS = ("base.js", "time.js", "list.js", "bytes.js", "about.js", "main.js")
"""Parts of one script, in their order."""

_HERE = Path(__file__).parent


def render(document: Mapping[str, Any]) -> str:
    """The page."""
    style, *parts = ((_HERE / name).read_text(encoding="utf-8") for name in ("page.css", *SCRIPTS))
    script = "\n".join(parts)
    environment = Environment(loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("page.html").render(
        document=document,
        style=Markup(style),  # noqa: S704  ours
        script=Markup(script),  # noqa: S704
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
