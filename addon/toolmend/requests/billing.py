"""What Claude Code is billed by goes to Anthropic alone.

    "system": [{"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.177.01c; cc_entrypoint=cli; cch=36ee5;"},
               {"type": "text", "text": "You are Claude Code …"}, …]

`cch` is another one in each request, in front of all that the model reads: no upstream that caches the beginning of prompts ever
finds one again (claude-code#68900, llama.cpp#20623, claude-code-router#1343). It says nothing to a model.

Rule of this file: a request without it is the same object afterwards.
"""

import re
from collections.abc import Mapping
from typing import Any

_LINE = re.compile(r"x-anthropic-billing-header:[^\n]*\n*")
_HOST = ".anthropic.com"


def unbilled(request: Mapping[str, Any], host: str) -> Mapping[str, Any]:
    """The request of Messages as the upstream at `host` is to have it."""
    system = request.get("system")
    if f".{host.partition(':')[0]}".endswith(_HOST):
        return request
    if isinstance(system, str) and (line := _LINE.match(system)):
        return {**request, "system": system[line.end() :]}
    if not isinstance(system, list) or not any(map(_billed, system)):
        return request
    blocks = [{**block, "text": block["text"][line.end() :]} if (line := _billed(block)) else block for block in system]
    return {**request, "system": [block for block in blocks if not (isinstance(block, dict) and block.get("text") == "")]}


def _billed(block: Any) -> re.Match[str] | None:
    text = block.get("text") if isinstance(block, dict) else None
    return _LINE.match(text) if isinstance(text, str) else None
