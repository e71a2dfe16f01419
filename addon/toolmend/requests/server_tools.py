"""Converts calls and results of a provider's own tools in earlier turns to text, which any other provider accepts.

    Messages    {"type": "server_tool_use", "name": "code_execution", "input": {"code": "1+1"}}    code_execution_tool_result
                {"type": "web_fetch_tool_result", "content": {"url": "…", "content": {…}}}         mcp_tool_use, mcp_tool_result
    Responses   {"type": "code_interpreter_call", "code": "1+1", "outputs": […]}    file_search_call, mcp_call …

web_search.py handles web searches: the answer after them contains what was found.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ..core import json_text
from ..core.json_access import as_list, as_object, objects

MAX_TEXT = 20_000
"""Characters of one result that are kept: about ten pages."""

COMPUTERS = ("computer", "browser_toolset")
"""Prefixes of the types of tools that see a screen. Each API has different actions for these, so they cannot be translated."""

NO_COMPUTER = "the tool {} needs an upstream of the client's own API: another has other actions, or none"


def as_text(block: Mapping[str, Any]) -> str:
    """The text of a block or item; empty if it has nothing of use to another model."""
    return "\n".join(_lines(block))[:MAX_TEXT]


def _lines(block: Mapping[str, Any]) -> Iterator[str]:
    match block:
        case {"type": "tool_reference", "tool_name": str(name)}:
            yield f"Found the tool: {name}"
        case {"type": "search_result"}:
            texts = [entry.get("text") for entry in objects(block.get("content"))]
            yield from _strings(block.get("title"), block.get("source"), *texts)
        case {"type": "server_tool_use", "name": str(name), "input": Mapping() as given} if name != "web_search" and given:
            yield f"Ran {name}: {_shown(given)}"
        case {"type": "mcp_tool_use", "name": str(name), "input": given}:
            yield f"Called {name}: {json_text.dumps(given)}"
        case {"type": "mcp_tool_result"}:
            yield from _strings(*(entry.get("text") for entry in objects(block.get("content"))), block.get("content"))
        case {"type": "web_fetch_tool_result", "content": Mapping() as page}:
            document = as_object(page.get("content"))
            text = as_object(document.get("source")).get("data")
            yield from _strings(page.get("url"), document.get("title"), text, page.get("error_code"))
        case {"type": str(kind), "content": Mapping() as result} if kind.endswith("code_execution_tool_result"):
            names = ("stdout", "stderr", "content", "error_code")
            yield from _strings(*(result.get(name) for name in names))
        case {"type": "code_interpreter_call"}:
            yield from (f"Ran code: {code}" for code in _strings(block.get("code")))
            yield from _strings(*(entry.get("logs") for entry in objects(block.get("outputs"))))
        case {"type": "file_search_call"}:
            queries = block.get("queries")
            yield from (f"Searched files for: {query}" for query in _strings(*as_list(queries)))
            for entry in objects(block.get("results")):
                yield from _strings(entry.get("filename"), entry.get("text"))
        case {"type": "mcp_call", "name": str(name)}:
            yield f"Called {name}: {block.get('arguments') or '{}'}"
            yield from _strings(block.get("output"), block.get("error"))
        case {"type": "image_generation_call"}:
            yield f"Made an image: {next(_strings(block.get('revised_prompt')), '(it cannot be shown here)')}"
        case {"type": "shell_call", "action": Mapping() as action}:
            yield f"Ran: {_shown(action)}"


def _shown(given: Mapping[str, Any]) -> str:
    """A single string argument, such as code, unquoted; otherwise JSON."""
    only = next(iter(given.values())) if len(given) == 1 else None
    return only if isinstance(only, str) else json_text.dumps(given)


def _strings(*values: Any) -> Iterator[str]:
    return (value for value in values if isinstance(value, str) and value)
