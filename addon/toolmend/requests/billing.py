"""Removes Claude Code's billing header line from requests to other hosts than Anthropic's.

    "system": [{"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.177.01c; cc_entrypoint=cli; cch=36ee5;"},
               {"type": "text", "text": "You are Claude Code …"}, …]

`cch` changes with each request and precedes the rest of the prompt, so no upstream that caches prompt prefixes gets a cache hit
(claude-code#68900, llama.cpp#20623, claude-code-router#1343). The line means nothing to a model.
"""

import re
from collections.abc import Mapping
from typing import Any

_LINE = re.compile(r"x-anthropic-billing-header:[^\n]*\n*")
_HOST = ".anthropic.com"


def without_billing_line(request: Mapping[str, Any], host: str) -> Mapping[str, Any]:
    """Returns a Messages request for the upstream at `host`; the same object where there is nothing to remove."""
    system = request.get("system")
    if f".{host.partition(':')[0]}".endswith(_HOST):
        return request
    if isinstance(system, str) and (line := _LINE.match(system)):
        return {**request, "system": system[line.end() :]}
    if not isinstance(system, list) or not any(map(_billing_line, system)):
        return request
    blocks = [{**block, "text": block["text"][line.end() :]} if (line := _billing_line(block)) else block for block in system]
    return {**request, "system": [block for block in blocks if not (isinstance(block, dict) and block.get("text") == "")]}


def _billing_line(block: Any) -> re.Match[str] | None:
    text = block.get("text") if isinstance(block, dict) else None
    return _LINE.match(text) if isinstance(text, str) else None
