"""Accumulate, then parse: the plain readers that the streaming engine is compared with. A dozen lines per dialect.

They read well-formed text only: no almost-openers, no missing ends. What they share with the engine is nothing.
"""

import re
from dataclasses import dataclass, field


@dataclass
class Parsed:
    content: str = ""
    calls: list[tuple[str, str, str]] = field(default_factory=list)  # id, name, arguments


def kimi_k2(text: str) -> Parsed:
    """`begin functions.NAME:N argument_begin JSON end`, with or without a section; JSON that holds no marker."""
    parsed = Parsed()
    call = re.compile(r"\s*<\|tool_call_begin\|>\s*(?:functions\.)?(\S+?):(\d+)\s*<\|tool_call_argument_begin\|>(.*?)<\|tool_call_end\|>", re.DOTALL)
    outside, at = "", 0
    for match in call.finditer(text):
        outside += text[at : match.start()]
        at = match.end()
        id_ = re.search(r"begin\|>\s*(\S+?)\s*<\|tool_call_arg", match.group())[1]  # type: ignore[index]
        parsed.calls.append((id_, match[1], match[3].strip() or "{}"))
    parsed.content = re.sub(r"<\|tool_calls?_section_(begin|end)\|>", "", outside + text[at:])
    return parsed
