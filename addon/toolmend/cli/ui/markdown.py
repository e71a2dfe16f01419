"""Markdown as a tree of elements instead of HTML: the page creates elements from it, so nothing in it can be markup.

    tree("Hi **you**")      [["p", {}, ["Hi ", ["strong", {}, ["you"]]]]]
    tree("```py\\nx = 1\\n```")   [["pre", {"lang": "py"}, [["span", {"class": "n"}, ["x"]], …]]]

Only tags in `TAGS` occur; links lead to http, https or mailto; an image becomes text.
"""

from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import lex  # type: ignore[import-untyped,unused-ignore]
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped,unused-ignore]
from pygments.token import STANDARD_TYPES  # type: ignore[import-untyped,unused-ignore]
from pygments.util import ClassNotFound  # type: ignore[import-untyped,unused-ignore]

TAGS = frozenset(
    {
        *("a", "blockquote", "br", "code", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s", "span"),
        *("strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
    }
)
"""The tags of a tree."""

MAX_TEXT = 200_000
"""Characters that are parsed as Markdown; a longer text stays plain."""

MAX_CODE = 40_000
"""Characters of code that are highlighted."""

_SCHEMES = ("http://", "https://", "mailto:")

type Node = Any
"""A text, or [tag, attributes, nodes]."""


@lru_cache(1)
def _reader() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").enable("strikethrough")


@lru_cache(2000)
def tree(text: str) -> list[Node]:
    """Returns the nodes of a text."""
    if len(text) > MAX_TEXT:
        return [["pre", {}, [text]]]
    try:
        return _nodes(_reader().parse(text))
    except (RecursionError, ValueError, IndexError):
        return [["pre", {}, [text]]]


def _nodes(tokens: list[Token]) -> list[Node]:
    root: list[Node] = []
    open_: list[list[Node]] = [root]
    for token in tokens:
        if token.nesting == 1:
            node: Node = [_tag(token.tag), _attributes(token), []]
            open_[-1].append(node)
            open_.append(node[2])
        elif token.nesting == -1:
            if len(open_) > 1:
                open_.pop()
        elif token.type == "inline":
            open_[-1].extend(_nodes(token.children or []))
        elif token.type in ("fence", "code_block"):
            lang = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
            open_[-1].append(["pre", {"lang": lang} if lang else {}, coloured(token.content, lang)])
        elif token.type == "code_inline":
            open_[-1].append(["code", {}, [token.content]])
        elif token.type == "softbreak":
            open_[-1].append("\n")
        elif token.type in ("hardbreak", "hr"):
            open_[-1].append(["br" if token.type == "hardbreak" else "hr", {}, []])
        elif token.type == "image":
            open_[-1].append(f"[image: {token.content} {token.attrs.get('src', '')}]")
        elif token.content:
            open_[-1].append(token.content)
    return root


def _tag(tag: str) -> str:
    return tag if tag in TAGS else "span"


def _attributes(token: Token) -> dict[str, str]:
    href = str(token.attrs.get("href", ""))
    if token.tag == "a":
        return {"href": href} if href.lower().startswith(_SCHEMES) else {}
    if token.tag == "ol" and "start" in token.attrs:
        return {"start": str(token.attrs["start"])}
    return {}


def coloured(code: str, lang: str) -> list[Node]:
    """Returns code as nodes with the classes of its tokens, if its language is known."""
    if not lang or len(code) > MAX_CODE:
        return [code]
    try:
        lexer = get_lexer_by_name(lang, stripnl=False)
    except ClassNotFound:
        return [code]
    nodes: list[Node] = []
    for kind, text in lex(code, lexer):
        found = kind
        while found not in STANDARD_TYPES and found.parent is not None:
            found = found.parent
        name = STANDARD_TYPES.get(found, "")
        nodes.append(["span", {"class": f"k-{name}"}, [text]] if name and name not in ("p", "w") else text)
    return nodes
