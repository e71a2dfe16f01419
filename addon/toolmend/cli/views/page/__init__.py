"""A recording as one page without other files: it opens from disk and makes no network request.

    render(document(…)) → "<!doctype html>…"

Recorded text is data, never markup: it is in a JSON block in which `<`, `>` and `&` are escaped, and the script creates only text
from it. The page's policy allows only this style and this script, by their hashes, so that nothing else could run.
"""

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

SCRIPTS = ("base.js", "time.js", "list.js", "bytes.js", "about.js", "main.js")
"""Parts of one script, in order."""

_HERE = Path(__file__).parent


def render(document: Mapping[str, Any]) -> str:
    """Returns the page."""
    style, *parts = ((_HERE / name).read_text(encoding="utf-8") for name in ("page.css", *SCRIPTS))
    script = "\n".join(parts)
    environment = Environment(loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("page.html").render(
        document=document,
        style=Markup(style),  # noqa: S704  toolmend's own
        script=Markup(script),  # noqa: S704
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
