"""Closing tags of parameters and calls in every spelling: exact, damaged, or those of another dialect.

    </parameter>  </paramter>  </param  </parameter1>  <parameter/>  </｜DSML｜parameter>  <|close|>argument  </content>

`read_closer` returns which element a tag closes; the text after the tag decides whether it ends a value (value_text.py). All
dialects with elements share these names: models mix the vocabularies of the templates that they were trained on.
"""

import re
from difflib import SequenceMatcher
from functools import lru_cache

from ...core.fastclass import value
from ...core.scanner import Reading, Scanner

PARAMETERS = ("parameter", "param", "params", "argument", "arg_value", "arg_key", "arg", "value")
CALLS = (
    *("function", "invoke", "function_call", "function_calls", "function_invocation", "call", "calls"),
    *("tool", "tools", "tool_call", "tool_calls", "toolcall", "toolcalls", "tool_use"),
)
ELEMENTS = frozenset((*PARAMETERS, *CALLS))
"""The element names of templates, without mark or namespace."""

MAX_CLOSER = 64
"""Characters of a closing tag; the longest in a template has 30."""

MIN_CUT = 3
"""The least characters of an abbreviated name in a complete tag: `</p>` is HTML."""

MIN_MISSPELT = 4
"""The least characters of a misspelt name: `</paam>`."""

MIN_FUSED = 6
"""The least characters of an element name that may have a suffix: `</toolbar>` is not `</tool>`."""

MAX_FUSED = 12
"""Characters of such a suffix, as in `</parameter1>` or `</parameterparameter>`."""

SIMILAR = 0.8
"""The least ratio of `SequenceMatcher` for a misspelt name: `paramter`, `rivoke`."""

MINIMAX_M3_MARK = "]<]minimax[>["
_CLOSE = ("<|close|>",)
SEPARATORS = ("<|sep|>", *(f"<|{word}|>" for word in ("sp", "se", "ep", "spe", "esp", "sop", "seep", "sepp", "step", "sept")))
SEPARATORS += ("<|sep>", "<sep|>", "<sep>", "<|/sep|>", "<|sep|")
"""The token that ends a tag of Kimi K3, and its misspellings."""

_SEPARATOR = (*SEPARATORS, " <|sep|>")
_SLASHED = ("</", "< /", "<//", "<\\", "< \\")
_UNSLASHED = tuple(f"<{element}" for element in PARAMETERS)
CLOSINGS = (*_SLASHED, *_CLOSE, *_UNSLASHED, MINIMAX_M3_MARK)
"""Prefixes of closing tags."""

OPENINGS = tuple(f"<{element}" for element in sorted(ELEMENTS))
"""Prefixes of the elements' opening tags."""

_INNER = re.compile(r"[^<>\r\n]*")
_INNER_MARKED = re.compile(r"[^<>\]\r\n]*")
_SELF_CLOSED = re.compile(r"\s*/?")
_NAMED = re.compile(
    r"(?P<mark>\s*(?:\w{0,8}[｜|‖]{1,2}\s*)?DSML\s*(?:[｜|‖]{1,2}\s*)?|\s*[｜|‖]{1,2}\s*|\s*[A-Za-z_]{1,16}[:|])?\s*(?P<name>[A-Za-z_][\w.-]*)?(?P<rest>.*)"
)
_ATTRIBUTES = re.compile(r"(?:\s*[=:]\s*|\s+)[\w\s=:'\"./-]*|[^\w\s]{0,2}\s*")
_TAG = re.compile(r"[/\w]")
_JUNK = re.compile(r"[^\w\s]{0,2}\s*")


@value
class Closer:
    """A closing tag. `element`: the element in its template spelling, "" if no template has it. `cut`: the `>` is missing."""

    element: str
    cut: bool = False


def read_closer(scanner: Scanner, names: tuple[str, ...], ends: tuple[str, ...] = ()) -> Reading[Closer | None]:
    """Parses a closing tag in any spelling; returns None, without moving the scanner, for anything else.

    Args:
        scanner: The scanner.
        names: Other element names: those of the tool and the parameter.
        ends: Exact closing tags; a prefix of one is a closing tag as well.
    """
    offset = scanner.pos - scanner.start
    closer = yield from _read(scanner, names)
    tag = scanner.text[scanner.start + offset : scanner.pos]
    if closer is None and "/" in tag and any(end.startswith(tag) for end in ends):
        return Closer(PARAMETERS[0], cut=True)
    if closer and closer.cut and not _TAG.search(tag):
        closer = None  # a backslash without a name is text
    if closer is None:
        scanner.pos = scanner.start + offset
    return closer


def _read(scanner: Scanner, names: tuple[str, ...]) -> Reading[Closer | None]:
    marked = yield from scanner.literal((MINIMAX_M3_MARK,))
    if (yield from scanner.literal(_CLOSE)):
        text = yield from scanner.run(_INNER, MAX_CLOSER)
        complete = bool((yield from scanner.literal(_SEPARATOR)))
    elif (yield from scanner.literal(_SLASHED)):
        text = yield from scanner.run(_INNER_MARKED if marked else _INNER, MAX_CLOSER)
        complete = bool((yield from scanner.literal((">",)))) or (bool(marked) and (yield from _bracket(scanner)))
    elif unslashed := (yield from scanner.literal(_UNSLASHED)):
        slash = yield from scanner.run(_SELF_CLOSED, MAX_CLOSER)
        if slash is None or not (yield from scanner.literal((">",))):
            return None
        return Closer(unslashed[1:])
    else:
        return None
    return None if text is None else _closer(text, names, cut=not complete, marked=bool(marked))


def _bracket(scanner: Scanner) -> Reading[bool]:
    """Skips a bracket in place of a tag's `>`, unless it begins the next mark of MiniMax M3."""
    if not (yield from scanner.literal(("]",))):
        return False
    ends = (yield from scanner.peek()) != "<"
    scanner.pos -= not ends
    return ends


def _closer(text: str, names: tuple[str, ...], *, cut: bool, marked: bool) -> Closer | None:
    """The Closer for the text between a tag's slash and its end."""
    match = _NAMED.fullmatch(text)
    assert match
    name, rest = match["name"] or "", match["rest"]
    if (label := (match["mark"] or "").rstrip(":|")) in ELEMENTS and name not in ELEMENTS:  # `tool_call:opensource`
        name = label
    if not (_JUNK if cut else _ATTRIBUTES).fullmatch(rest):
        return None
    if not name:
        return Closer(PARAMETERS[0], cut=True) if cut and not rest.strip() else None
    if name in names or marked:
        return Closer(name, cut=cut)
    element = element_of(name) or next((_named_with(name, other) for other in names if name.endswith(other)), "")
    if not element and cut:
        element = next((known for known in PARAMETERS if known.startswith(name.lower())), "")
    return Closer(element, cut=cut) if element or not cut else None


def _named_with(name: str, other: str) -> str:
    """The element in a name that ends with another name: `param_path`."""
    known = name.removesuffix(other).rstrip("_-.")
    return known if known in ELEMENTS else ""


@lru_cache(4096)
def element_of(name: str) -> str:
    """The element for a name or its damaged spelling; "" for any other name."""
    name = name.lower()
    if name in ELEMENTS:
        return name
    return next((known for known in (*PARAMETERS, *CALLS) if _is_damaged(name, known)), "")


def _is_damaged(name: str, known: str) -> bool:
    if known.startswith(name):
        return len(name) >= MIN_CUT
    if name.startswith(known):
        return len(known) >= MIN_FUSED and len(name) - len(known) <= MAX_FUSED
    return min(len(name), len(known) - 1) >= MIN_MISSPELT and SequenceMatcher(None, name, known).ratio() >= SIMILAR
