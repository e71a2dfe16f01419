"""Parses the body of a refusal, in the envelopes of all hosts, into the problems it names.

    {"error": {"message": "Unknown parameter: 'input[0].x'", "param": "input[0].x", "code": "unknown_parameter"}}       OpenAI
    {"message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "…"}]}}      Mistral, and FastAPI's
    [{"error": {"message": "…", "details": [{"fieldViolations": [{"field": "…", "description": "…"}]}]}}]              Gemini
    {"error": {"message": "Provider returned error", "metadata": {"raw": "{\\"error\\": …}"}}}      OpenRouter
    "… {'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low' or 'high'\"} …"     SGLang
    "body -> seed\\n  Extra inputs are not permitted"                                                             NVIDIA NIM

Envelopes are recognised by shape, not by host: resellers forward the envelopes of their upstreams.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from ..core import json_text
from ..core.fastclass import value

STATUSES = (400, 422)
"""Statuses of refusals that name a problem of the request; other statuses concern keys, load or models."""

MAX_SHOWN = 300
"""Characters of a refusal that are shown to the user."""

MAX_BODY = 64 * 1024
"""Bytes of a refusal that are parsed: some repeat the request."""

MAX_TEXT, MAX_WORDS = 6000, 1000
"""Characters of a message, which may contain nested messages, and of one nested message."""

MAX_PROBLEMS, MAX_DEPTH, MAX_NAME = 16, 12, 100


@value
class Problem:
    """One problem: its message, and the path or names that the body has for it."""

    text: str
    place: str = ""
    code: str = ""


def problems(body: bytes) -> list[Problem]:
    """The problems that a body of any of these shapes names."""
    try:
        given = json_text.loads(body)
    except json_text.NotJSON:
        given = body[:MAX_TEXT].decode(errors="replace")
    found: list[Problem] = []
    left = MAX_TEXT
    for problem in islice(_problems(given, "", "", 0), MAX_PROBLEMS):
        if left > 0:
            found.append(problem)
        left -= len(problem.text) + len(problem.place) + len(problem.code)
    return found


def _problems(node: Any, place: str, code: str, depth: int) -> Iterator[Problem]:
    if depth > MAX_DEPTH or node in (None, "", [], {}):
        return
    if isinstance(node, str):
        yield from _of_text(node, place, code, depth)
    elif isinstance(node, list):
        for entry in node[:MAX_PROBLEMS]:
            yield from _problems(entry, place, code, depth + 1)
    elif isinstance(node, Mapping):
        yield from _of_object(node, place, code, depth)


_TEXTS = ("error", "errors", "detail", "details", "message", "msg", "description", "Message")
_OTHER = (*_TEXTS, "metadata", "fieldViolations", "input", "ctx", "request", "parameters")
"""Members that are parsed by name, or that repeat the request."""


def _of_object(node: Mapping[str, Any], place: str, code: str, depth: int) -> Iterator[Problem]:
    loc = node.get("loc", node.get("param", node.get("field", node.get("path"))))
    if isinstance(loc, list):
        place = ".".join(str(name)[:MAX_NAME] for name in loc[:MAX_PROBLEMS])
    elif isinstance(loc, str) and loc:
        place = loc[:MAX_WORDS]
    kinds = [word[:MAX_NAME] for name in ("code", "type", "error_code") if isinstance(word := node.get(name), str)]
    code = " ".join(dict.fromkeys([*kinds, *([code] if code else [])]))
    metadata, violations = node.get("metadata"), node.get("fieldViolations")
    inner = [metadata.get("raw") if isinstance(metadata, Mapping) else None, violations]
    inner += [node.get("data") if "__kind" in node else None]
    inner += [node.get(name) for name in _TEXTS]
    inner += [given for name, given in node.items() if name not in _OTHER and isinstance(given, Mapping)]
    for child in inner:
        yield from _problems(child, place, code, depth + 1)
    for name, given in node.items():
        if name not in _OTHER and isinstance(given, list) and given and all(isinstance(text, str) for text in given):
            yield from _problems(given, name[:MAX_NAME], code, depth + 1)  # {"stop": ["is too long"]}


_INNER = re.compile(r"[{\[]")
_TAIL = re.compile(r"(?: ?\(request id: [^)]*\))+\s*$")
_OF_PYTHON = re.compile(
    r"""['"]loc['"]: ?[(\[]([^)\]]*)[)\]][^{}]{0,400}?['"]msg['"]: ?"""
    r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')"""
)
_OF_NIM = re.compile(r"^body((?: -> [^\n]+)?)\n +([^\n]+)", re.MULTILINE)
_OF_PYDANTIC = re.compile(r"^([a-z][\w.]{0,100})\n +([^\n]+?) \[type=[^\n]*", re.MULTILINE)


def _of_text(text: str, place: str, code: str, depth: int) -> Iterator[Problem]:
    """A message, with a nested message if there is one: JSON, the repr of a Python object, or lines of pydantic."""
    text = _TAIL.sub("", text[:MAX_TEXT])
    if "\nInvalid JSON payload received" in text:
        for line in text.split("\nInvalid JSON payload received")[:MAX_PROBLEMS]:
            yield Problem(line[:MAX_WORDS], place, code)
        return
    if rows := _OF_PYTHON.findall(text):
        for names, double_quoted, single_quoted in rows[:MAX_PROBLEMS]:
            path = ".".join(word.strip(" '\"") for word in names.split(","))
            yield Problem((double_quoted or single_quoted)[:MAX_WORDS], path, code)
        return
    if rows := _OF_NIM.findall(text) or _OF_PYDANTIC.findall(text):
        for path, words in rows[:MAX_PROBLEMS]:
            yield Problem(words, path.replace(" -> ", ".").strip("."), code)
        return
    for found in islice(_INNER.finditer(text), 4):
        for end in (max(text.rfind("}"), text.rfind("]")), text.find("}{")):  # the second of two objects is a gateway's
            try:
                inner = json_text.loads(text[found.start() : end + 1].encode(errors="surrogatepass"))
            except json_text.NotJSON:
                continue
            if isinstance(inner, dict) or (isinstance(inner, list) and inner and isinstance(inner[0], dict)):
                yield from _problems(inner, "", code, depth + 1)
                return
    yield Problem(text[:MAX_WORDS], place, code)
