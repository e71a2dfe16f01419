"""Answers that look as if a tool call was left in their text: nothing was mended, and something should have been.

    suspect(message, tools)       "<tool_call> in the text, and no call"; empty where nothing is wrong

Rule of this file: it speaks only where tools were offered, no call came and the answer ended as if it were whole.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

OPENERS = re.compile(
    r"<\|?tool[_▁]?calls?[_▁a-z]*\|?>|<function[=_]|<\|tool|<｜tool▁|<invoke name=|to=functions\.|\[TOOL_CALLS\]|<TOOLCALL>"
    r"|<\|python_tag\|>|<xai:function_call|<｜DSML｜|<minimax:tool_call|<seed:tool_call"
)
"""What calls begin with in the text of models."""

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
"""Text that quotes: there a model writes about such markup."""

_ENDED = frozenset({"stop", "end_turn", "tool_calls", None})
MAX_TEXT = 200_000
"""Characters of a text that are searched: an answer has half of it at most."""


def suspect(message: Mapping[str, Any], tools: Collection[str]) -> str:
    """What speaks against an answer, in a few words. `tools`: the names of those that were offered."""
    if not tools or message.get("tool_calls") or message.get("finish_reason") not in _ENDED or message.get("error"):
        return ""
    text = _CODE.sub("", str(message.get("text") or "")[:MAX_TEXT])
    if found := OPENERS.search(text):
        return f"{found[0]} in the text, and no call"
    for name in tools:
        if len(name) > 2 and re.search(rf'\{{\s*"(?:name|tool|function)"\s*:\s*"{re.escape(name)}"\s*,', text):
            return f"JSON that names the tool {name}, and no call"
    reasoning = str(message.get("reasoning") or "")[-400:]
    if not text.strip() and (found := OPENERS.search(reasoning)):
        return f"{found[0]} at the end of the reasoning, and no call"
    return ""
