"""The web search that a provider runs, from one API's form to another's.

    Messages     {"type": "web_search_20250305", "name": "web_search", "max_uses": 8, "allowed_domains": […], "user_location": …}
    Responses    {"type": "web_search", "filters": {"allowed_domains": […]}, "user_location": {…}, "search_context_size": "low"}
    Chat         "web_search_options": {"search_context_size": "low", "user_location": {"approximate": {…}}}

Where an upstream has none, the writers leave the tool out.
"""

from collections.abc import Mapping
from typing import Any

from .conversation import Conversation, Other
from .fields import tell
from .quirks import Quirks

NAME = "web_search"

ASKED = "Perform a web search for the query:"
"""What Claude Code puts in front of a query in a request that is for a search alone."""


def is_search(tool: object) -> bool:
    """Whether it is a web search, in whichever API."""
    return isinstance(tool, Other) and str(tool.value.get("type")).startswith(NAME)


def is_offered(conversation: Conversation, quirks: Quirks) -> bool:
    """Whether the client offers a search and the upstream has one as a tool."""
    return bool(quirks.search_tool) and any(map(is_search, conversation.tools))


def for_messages(tool: Other, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    """The tool of Messages."""
    given = _read(tool)
    said = {"type": quirks.search_tool, "name": NAME}
    return _written(said, given, ("allowed_domains", "blocked_domains", "user_location", "max_uses"), notes)


def for_responses(tool: Other, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    """The tool of Responses."""
    given = _read(tool)
    said: dict[str, Any] = {"type": quirks.search_tool}
    if domains := given.pop("allowed_domains", None):
        said["filters"] = {"allowed_domains": domains}
    given.pop("max_uses", None)  # Responses counts all built-in tools together: a client sets it to spare money
    return _written(said, given, ("user_location", "search_context_size"), notes)


def query_of(request: Mapping[str, Any]) -> str | None:
    """What a client of Messages searches the web for: the user's last words. None where it offers no search."""
    if not any(str(tool.get("type")).startswith(NAME) for tool in _objects(request.get("tools"))):
        return None
    said = [message.get("content") for message in _objects(request.get("messages")) if message.get("role") == "user"]
    content = said[-1] if said else ""
    blocks = _objects(content) if isinstance(content, list) else [{"text": content}]
    texts = [text for block in blocks if isinstance(text := block.get("text"), str) and text]
    return texts[-1].strip().removeprefix(ASKED).strip() if texts else ""


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def _read(tool: Other) -> dict[str, Any]:
    value = tool.value
    filters, location = value.get("filters"), value.get("user_location")
    if isinstance(location, Mapping) and isinstance(location.get("approximate"), Mapping):
        location = {"type": "approximate", **location["approximate"]}
    found = {
        "allowed_domains": filters.get("allowed_domains") if isinstance(filters, Mapping) else value.get("allowed_domains"),
        "blocked_domains": value.get("blocked_domains"),
        "user_location": location,
        "max_uses": value.get("max_uses"),
        "search_context_size": value.get("search_context_size"),
    }
    return {name: given for name, given in found.items() if given not in (None, [], {})}


def _written(said: dict[str, Any], given: Mapping[str, Any], known: tuple[str, ...], notes: list[str]) -> dict[str, Any]:
    for name in given:
        if name not in known:
            tell(notes, f"`{name}` of the web search is left out: this upstream's has no such field")
    return {**said, **{name: given[name] for name in known if name in given}}
