"""Translates the provider's web search tool, and earlier searches, between the forms of the APIs.

    Messages     {"type": "web_search_20250305", "name": "web_search", "max_uses": 8, "allowed_domains": […], "user_location": …}
    Responses    {"type": "web_search", "filters": {"allowed_domains": […]}, "user_location": {…}, "search_context_size": "low"}
    Chat         {"type": "openrouter:web_search", "parameters": {"allowed_domains": […], "max_uses": 8, …}}   OpenRouter
                 "web_search_options": {"search_context_size": "low", "user_location": {"approximate": {…}}}   OpenAI, Perplexity
                 {"type": "browser_search"}    "enable_search": true    {"type": "web_search", "web_search": {…}}  Groq, Qwen, GLM

`Quirks.search_tool` is the upstream's form. If the upstream has no search, the writers leave the tool out, and a request that
asks only for a search is not sent (`SearchUnavailable`): the model would invent results.
"""

from collections.abc import Mapping
from typing import Any

from ..apis.shared.web_search import CALL, ERROR, RESULT
from ..core.fastclass import replace
from ..core.json_access import objects
from . import RequestError
from .conversation import Conversation, Other, Part, TextPart, Tool, Turn
from .fields import add_note
from .request_limits import Quirks

NAME = "web_search"

ASKED = "Perform a web search for the query:"
"""Claude Code's prefix of the query, in a request that asks only for a search."""

SOURCES = "web_search_call.action.sources"
"""The value of `include` that requests the sources of web searches."""

SETTING = "`search_tool` in its [[provider]] names one that it has"
"""Advice for an upstream whose search toolmend does not know."""

_ROUTER = "openrouter:web_search"
_BROWSER = "browser_search"
_OPTIONS = "web_search_options"
_SWITCH = "enable_search"

_LOCATED = ("allowed_domains", "blocked_domains", "user_location")
_TAKEN: Mapping[str, tuple[str, ...]] = {
    _ROUTER: (*_LOCATED, "search_context_size", "max_uses"),
    _OPTIONS: ("user_location", "search_context_size"),
}
"""Fields that the forms of Chat Completions accept; other forms accept none."""


class SearchUnavailable(RequestError):
    """The request asks only for a web search, and the upstream has none. `query`: the query of the search."""

    def __init__(self, query: str) -> None:
        super().__init__(f"the upstream runs no web search: {SETTING}, or route searches to an upstream that has one")
        self.query = query


def is_search(tool: object) -> bool:
    """Whether a tool is a web search of any API."""
    return isinstance(tool, Other) and _names_search(tool.value)


def _names_search(tool: Mapping[str, Any]) -> bool:
    return str(tool.get("type")).startswith((NAME, _ROUTER, _BROWSER))


def is_offered(conversation: Conversation, quirks: Quirks) -> bool:
    """Whether the client offers a search and the upstream has one."""
    return bool(quirks.search_tool) and any(map(is_search, conversation.tools))


def is_forced(conversation: Conversation) -> bool:
    """Whether the model has to search: the choice names the search, or no other tool can be chosen."""
    choice, tools = conversation.tool_choice, conversation.tools
    if choice is None or choice.mode not in ("tool", "required") or not any(map(is_search, tools)):
        return False
    functions = [tool.name for tool in tools if isinstance(tool, Tool)]
    return not functions if choice.mode == "required" else choice.names[0] == NAME and NAME not in functions


def check(conversation: Conversation, quirks: Quirks) -> None:
    """Raises SearchUnavailable if the request asks only for a search and the upstream has none."""
    searches = bool(conversation.tools) and all(map(is_search, conversation.tools))
    if not searches or quirks.search_tool or conversation.api == "chat":
        return
    query = query_of(conversation)
    if is_forced(conversation) or query != query.removeprefix(ASKED):
        raise SearchUnavailable(query.removeprefix(ASKED).strip())


def query_of(conversation: Conversation) -> str:
    """The last text of the last user turn."""
    users = [turn.parts for turn in conversation.turns if turn.role == "user"]
    texts = [part.text for part in users[-1] if isinstance(part, TextPart)] if users else []
    return texts[-1].strip() if texts else ""


def plugins(request: Mapping[str, Any]) -> list[Other]:
    """The searches that members of a Chat Completions request turn on."""
    options = request.get(_OPTIONS)
    if isinstance(options, Mapping):
        return [Other("chat", {"type": NAME, **options})]
    searches = request.get(_SWITCH) is True or any(plugin.get("id") == "web" for plugin in objects(request.get("plugins")))
    return [Other("chat", {"type": NAME})] if searches else []


def is_plugin(name: str, value: object) -> bool:
    """Whether a member of a Chat Completions request only turns on the search."""
    return name == "plugins" and all(plugin.get("id") == "web" for plugin in objects(value))


def for_messages(tool: Other, quirks: Quirks, notes: list[str], max_calls: Any = None) -> dict[str, Any]:
    """Returns the tool for Messages.

    Args:
        tool: The client's tool.
        quirks: `search_tool` is the type of the tool.
        notes: Collects what was left out.
        max_calls: The limit of calls to all provider tools, if the search is the only one.
    """
    given = _read(tool)
    given |= {"max_uses": max_calls} if isinstance(max_calls, int) and "max_uses" not in given else {}
    given.pop("search_context_size", None)
    members = {"type": quirks.search_tool, "name": NAME}
    return _written(members, given, (*_LOCATED, "max_uses"), notes)


def for_responses(tool: Other, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    """Returns the tool for Responses."""
    given = _read(tool)
    members: dict[str, Any] = {"type": quirks.search_tool}
    if domains := given.pop("allowed_domains", None):
        members["filters"] = {"allowed_domains": domains}
    given.pop("max_uses", None)  # see max_calls
    return _written(members, given, ("user_location", "search_context_size"), notes)


def left_out(tool: Other) -> str:
    """The note for a tool that the upstream does not run."""
    setting = f"; {SETTING}" if is_search(tool) else ""
    return f"A tool of the type {tool.value.get('type')} is left out: this upstream does not run it{setting}"


def max_calls(conversation: Conversation) -> dict[str, int]:
    """`max_tool_calls` of Responses, if the search is the only provider tool: the field limits all of them together."""
    others = [tool for tool in conversation.tools if isinstance(tool, Other)]
    limit = others[0].value.get("max_uses") if len(others) == 1 and is_search(others[0]) else None
    return {"max_tool_calls": limit} if isinstance(limit, int) else {}


def for_chat(tool: Other, quirks: Quirks, notes: list[str], *, forced: bool) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns the members of a Chat Completions request that turn the search on, and its tools.

    Args:
        tool: The client's tool.
        quirks: `search_tool` is the form of the search.
        notes: Collects what was left out.
        forced: Whether the model has to search.
    """
    form = quirks.search_tool
    given = _written({}, _read(tool), _TAKEN.get(form, ()), notes)
    match form:
        case "openrouter:web_search":
            if domains := given.pop("blocked_domains", None):
                given["excluded_domains"] = domains
            return {}, [{"type": form, **({"parameters": given} if given else {})}]
        case "web_search_options":
            if location := given.get("user_location"):
                inner = {name: value for name, value in location.items() if name != "type"}
                given["user_location"] = {"type": "approximate", "approximate": inner}
            return {form: given}, []
        case "enable_search":
            return {form: True, **({"search_options": {"forced_search": True}} if forced else {})}, []
        case "web_search":
            return {}, [{"type": form, form: {"enable": True, "search_result": True}}]
    return {}, [{"type": form}]


def domain_instruction(conversation: Conversation, quirks: Quirks, api: str) -> str:
    """Returns a prompt text that limits the domains of the search, if the upstream's search has no field for these.

    Args:
        conversation: The conversation, with the client's search tool.
        quirks: `search_tool` is the upstream's form.
        api: The upstream's API.
    """
    given = next((_read(tool) for tool in conversation.tools if is_search(tool) and isinstance(tool, Other)), {})
    accepted = {"messages": _LOCATED, "responses": ("allowed_domains",)}.get(api) or _TAKEN.get(quirks.search_tool, ())
    words = {"allowed_domains": "Of web searches, use results of these domains alone: {}.",
             "blocked_domains": "Of web searches, use no result of these domains: {}."}  # fmt: skip
    missing = [name for name in words if name in given and name not in accepted]
    texts = [words[name].format(", ".join(map(str, given[name]))) for name in missing]
    return " ".join(texts) if quirks.search_tool else ""


# earlier searches


def as_items(turn: Turn) -> Turn:
    """Converts the searches in a turn of Messages, two blocks each, to items of Responses."""
    blocks = [part.value for part in turn.parts if isinstance(part, Other)]
    answered = {block.get("tool_use_id") for block in blocks if block.get("type") == RESULT}
    queries: dict[Any, str] = {}
    parts: list[Part] = []
    for part in turn.parts:
        block: Mapping[str, Any] = part.value if isinstance(part, Other) else {}
        if block.get("type") == "server_tool_use" and block.get("name") == NAME and block.get("id") in answered:
            given = block.get("input")
            query = given.get("query") if isinstance(given, Mapping) else None
            queries[block.get("id")] = query if isinstance(query, str) else ""
        elif block.get("type") == RESULT and block.get("tool_use_id") in queries:
            parts.append(Other("responses", _item(block, queries.pop(block["tool_use_id"]))))
        else:
            parts.append(part)
    return replace(turn, parts=tuple(parts))


def _item(result: Mapping[str, Any], query: str) -> dict[str, Any]:
    content = result.get("content")
    failed = isinstance(content, Mapping) and content.get("type") == ERROR
    links = objects(content)
    sources = [{"type": "url", "url": url} for link in links if isinstance(url := link.get("url"), str)]
    action = {"type": "search", "query": query, "queries": [query], "sources": sources}
    id_ = "ws_" + str(result["tool_use_id"]).removeprefix("srvtoolu_")
    return {"type": CALL, "id": id_, "status": "failed" if failed else "completed", "action": action}


def query_in(request: Mapping[str, Any]) -> str | None:
    """The query of a Messages request that offers a search: the last text of the user. None if it offers none."""
    if not any(str(tool.get("type")).startswith(NAME) for tool in objects(request.get("tools"))):
        return None
    users = [message.get("content") for message in objects(request.get("messages")) if message.get("role") == "user"]
    content = users[-1] if users else ""
    blocks = objects(content) if isinstance(content, list) else [{"text": content}]
    texts = [text for block in blocks if isinstance(text := block.get("text"), str) and text]
    return texts[-1].strip().removeprefix(ASKED).strip() if texts else ""


def _read(tool: Other) -> dict[str, Any]:
    value = tool.value
    if isinstance(inner := value.get("parameters"), Mapping):
        value = {**inner, "blocked_domains": inner.get("excluded_domains")}
    filters, location = value.get("filters"), value.get("user_location")
    if isinstance(location, Mapping) and isinstance(location.get("approximate"), Mapping):
        location = {"type": "approximate", **location["approximate"]}
    found = {
        "allowed_domains": filters.get("allowed_domains") if isinstance(filters, Mapping) else value.get("allowed_domains"),
        "blocked_domains": filters.get("blocked_domains") if isinstance(filters, Mapping) else value.get("blocked_domains"),
        "user_location": location,
        "max_uses": value.get("max_uses"),
        "search_context_size": value.get("search_context_size"),
    }
    return {name: given for name, given in found.items() if given not in (None, [], {})}


def _written(members: dict[str, Any], given: Mapping[str, Any], known: tuple[str, ...], notes: list[str]) -> dict[str, Any]:
    for name in given:
        if name not in known:
            add_note(notes, f"`{name}` of the web search is left out: this upstream's has no such field")
    return {**members, **{name: given[name] for name in known if name in given}}
