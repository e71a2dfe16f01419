"""Exports a session as one page: first a review for secrets, then the page without what looks like one.

    rows = index.firsts("5f2b")
    review(rows)                                  [{"part": 12, "kind": "result", "what": ["a key that begins with sk-"], …}]
    page(title, rows, allow={12}, leave={"system"})     HTML without scripts and addresses

A part with a finding is left out, unless the user has read and allowed it.
"""

import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from .reading import Row

KINDS = {"system": ("system",), "tools": ("tools",), "results": ("results", "files"), "reasoning": ("reasoning",)}
"""What can be left out, as classes of parts."""

HEAD = 120
"""Characters of a part that a review shows."""

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{{ title }}</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.55 system-ui, sans-serif; max-width: 860px; margin: 24px auto; padding: 0 16px; }
body { overflow-wrap: anywhere; }
pre { font: 13px/1.5 ui-monospace, monospace; white-space: pre-wrap; margin: 4px 0; }
section { border-left: 3px solid #8886; padding: 2px 0 2px 14px; margin: 14px 0; }
.user { border-color: #1f5fd6; } .call { border-color: #8a6fc9; } .results { border-color: #16743a; }
.left { opacity: .6; font-style: italic; }
h2 { font-size: 12px; margin: 0; opacity: .7; } header p { opacity: .7; }
</style>
<header><h1>{{ title }}</h1><p>{{ about }}</p></header>
{% for one in parts %}<section class="{{ one.cls }}"><h2>{{ one.who }}</h2>
{% if one.left %}<p class="left">{{ one.left }}</p>{% else %}<pre>{{ one.text }}</pre>{% endif %}</section>
{% endfor %}</html>
"""


def review(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Returns the parts that contain something like a secret, with the findings."""
    return [{**_brief(row), "what": list(found)} for row in rows if (found := _secret_kinds(row["value"]))]


@lru_cache(4000)
def _secret_kinds(value: str) -> tuple[str, ...]:
    from ...recordings.read.secret_scan import scan  # noqa: PLC0415  slow

    return tuple(sorted({finding.what for finding in scan({"part.json": value.encode(errors="replace")}, {})}))


def _brief(row: Row) -> dict[str, Any]:
    return {"part": row["part"], "kind": row["kind"], "role": row["role"], "recording": row["recording"]}


def page(title: str, rows: Sequence[Row], allow: Collection[int], leave: Collection[str]) -> str:
    """Returns the page. `allow`: parts that the user has read; `leave`: names of KINDS to leave out."""
    from jinja2 import Environment  # noqa: PLC0415  slow

    without = {cls for name in leave for cls in KINDS.get(name, ())}
    parts = [part for row in rows for part in _shown(row, allow, without)]
    hidden = sum(bool(part.get("left")) for part in parts)
    title = title if title and not _secret_kinds(json.dumps(title)) else "A session"
    about = f"Recorded by toolmend, shared on {datetime.now(UTC):%Y-%m-%d}"
    about += f"; {hidden} parts are left out, since they look like a secret." if hidden else "."
    html = Environment(autoescape=True).from_string(_PAGE).render(title=title, about=about, parts=parts)
    return html.encode(errors="replace").decode()  # JSON may contain lone surrogates


def _shown(row: Row, allow: Collection[int], without: Collection[str]) -> list[dict[str, str]]:
    if row["cls"] in without:
        return []
    lane = " of a subagent" if row["sub"] else ""
    value = json.loads(row["value"])
    if row["part"] not in allow and (found := _secret_kinds(row["value"])):
        return [{"cls": row["cls"], "who": f"{row['role']}{lane}", "left": f"left out: {', '.join(found)}"}]
    if row["kind"] == "tools":
        return [{"cls": "tools", "who": "tools", "text": ", ".join(str(tool.get("name")) for tool in value.get("tools", ()))}]
    if row["kind"] != "answer":
        if row["role"] == "assistant":  # shown above as the answer
            return []
        who = f"result of {value.get('name', 'a tool')}" if row["kind"] == "result" else row["role"]
        return [{"cls": row["cls"], "who": f"{who}{lane}", "text": str(value.get("text", ""))}]
    texts = [("reasoning", "reasoning", value.get("reasoning")), ("assistant", "assistant", value.get("text"))]
    texts += [("call", f"call of {call.get('name')}", call.get("arguments")) for call in value.get("tool_calls") or ()]
    return [{"cls": cls, "who": f"{who}{lane}", "text": str(text)} for cls, who, text in texts if text and cls not in without]
