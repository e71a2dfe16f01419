"""The tools of a request: the names that a call may have, and the schemas of their parameters."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any

from . import builtin_tools, json_text
from .fastclass import replace, value
from .json_access import as_object, objects, strings
from .schemas import Schema as SchemaPlace

type Schema = Mapping[str, Any]

_HTML = frozenset(
    {"address", "article", "aside", "audio", "body", "button", "code", "data", "details", "figure", "footer", "form", "head"}
    | {"header", "html", "input", "label", "legend", "link", "main", "mark", "menu", "meta", "object", "option", "output"}
    | {"param", "section", "select", "slot", "source", "span", "strong", "style", "summary", "table", "template", "text", "time"}
    | {"title", "track", "video"}
)
"""Elements of HTML and SVG that are also common parameter names: their closing tags occur in values."""


@value
class Tools:
    """`schemas` maps the name of an offered tool to the JSON schema of its parameters.

    Attributes:
        known: False if the request is not available: then any name may be called.
        calls_so_far: Calls in the conversation; Kimi numbers its ids over all of it.
        legacy: The client offers `functions`, the predecessor of `tools`, and expects a `function_call`.
        forbidden: The request forbids calls, so markup in the response is text.
    """

    schemas: Mapping[str, Schema] = field(default_factory=dict)
    known: bool = True
    calls_so_far: int = 0
    legacy: bool = False
    forbidden: bool = False

    @property
    def offered(self) -> bool:
        """Whether the response may contain a call."""
        return (bool(self.schemas) or not self.known) and not self.forbidden

    def __contains__(self, name: str) -> bool:
        return name in self.schemas or not self.known

    def also(self, names: Mapping[str, str]) -> "Tools":
        """Returns these tools, each also by its other name: earlier turns may have shown it to the model."""
        more = {other: self.schemas[name] for name, other in names.items() if name in self.schemas}
        return replace(self, schemas={**more, **self.schemas}) if more else self

    def properties(self, name: str) -> Mapping[str, Any]:
        """Returns the declared parameters of a tool."""
        properties = self.schemas.get(name, {}).get("properties")
        return properties if isinstance(properties, Mapping) else {}

    @property
    def parameter_names(self) -> frozenset[str]:
        """The parameter names of all tools, without short ones and those of HTML elements."""
        names = {"content"} | {name for tool in self.schemas for name in self.properties(tool)}
        return frozenset(name for name in names - _HTML if len(name) > 3 and name.isidentifier())

    def requires(self, name: str) -> bool:
        """Whether a tool has required parameters."""
        return any(strings(self.schemas.get(name, {}).get("required")))

    def fits(self, name: str, arguments: str) -> bool:
        """Whether a JSON text is an object of declared parameters with all required ones."""
        schema = self.schemas.get(name, {})
        try:
            value = json_text.loads(arguments.encode())
        except (json_text.NotJSON, UnicodeEncodeError):
            return False
        declared = self.properties(name).keys()
        return isinstance(value, dict) and set(strings(schema.get("required"))) <= value.keys() <= declared

    def has_required(self, name: str, arguments: str) -> bool:
        """Whether a JSON text is an object with all required parameters."""
        try:
            value = json_text.loads(arguments.encode(errors="surrogatepass"))
        except json_text.NotJSON:
            return False
        return isinstance(value, dict) and set(strings(self.schemas.get(name, {}).get("required"))) <= value.keys()

    def suits(self, name: str, arguments: str) -> bool:
        """Whether an offered tool can be called with a JSON text, unchanged or with its values fitted.

        It needs all required parameters, no undeclared ones if the schema is closed, and a declared one if it has any.
        """
        try:
            value = json_text.loads(arguments.encode()) if name in self.schemas else None
        except (json_text.NotJSON, UnicodeEncodeError):
            return False
        if not isinstance(value, dict):
            return False
        schema = SchemaPlace(self.schemas[name])
        declared, more = schema.names, value.keys() - schema.names
        if not schema.required <= value.keys() or (more and self.schemas[name].get("additionalProperties") is False):
            return False
        foreign = bool(value and declared) and not value.keys() & declared
        return not foreign and all(_can_fit(schema.member(key), value[key]) for key in value)

    def fitting(self, arguments: Mapping[str, Any]) -> list[str]:
        """Returns the tools that declare all of these arguments and require no others."""
        return [
            name
            for name, schema in self.schemas.items()
            if arguments.keys() <= self.properties(name).keys() and set(strings(schema.get("required"))) <= arguments.keys()
        ]


UNKNOWN = Tools(known=False)


def _can_fit(place: SchemaPlace | None, value: Any) -> bool:
    """Whether a value is what a schema expects, unchanged or fitted."""
    if place is None or not isinstance(value, dict | list):
        return True
    return bool(place.kinds & {"object" if isinstance(value, dict) else "array", "string"})


FREEFORM: Schema = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
"""A freeform (custom) tool, as shown to a model that writes its calls as JSON."""

_SERVER_TOOLS = ("web_search", "web_fetch", "code_execution", "tool_search")
"""Type prefixes of Anthropic's server tools: no call of them reaches the client."""


def of_chat(request: Mapping[str, Any]) -> Tools:
    """Returns the tools of a Chat Completions request: `tools[].function`, `tools[].custom`, or the older `functions[]`."""
    schemas: dict[str, Schema] = {}
    for entry in [*objects(request.get("tools")), *objects(request.get("functions"))]:
        inner = entry.get("function", entry.get("custom", entry))
        if isinstance(inner, Mapping) and isinstance(inner.get("name"), str):
            schemas[inner["name"]] = FREEFORM if entry.get("type") == "custom" else as_object(inner.get("parameters"))
    calls = sum(len(objects(message.get("tool_calls"))) for message in objects(request.get("messages")))
    return Tools(schemas, calls_so_far=calls, legacy=not request.get("tools"), forbidden=_forbids(request))


def of_messages(request: Mapping[str, Any]) -> Tools:
    """Returns the tools of a Messages request that the client runs: those with a schema, and bash, text editor … by name."""
    schemas = {
        tool["name"]: as_object(tool.get("input_schema"))
        for tool in objects(request.get("tools"))
        if isinstance(tool.get("name"), str) and not str(tool.get("type", "")).startswith(_SERVER_TOOLS)
    }
    blocks = (block for message in objects(request.get("messages")) for block in objects(message.get("content")))
    calls = sum(block.get("type") == "tool_use" for block in blocks)
    return Tools(schemas, calls_so_far=calls, forbidden=_forbids(request))


def of_responses(request: Mapping[str, Any]) -> Tools:
    """Returns the functions and freeform tools of a Responses request, those of a namespace by their flat names."""
    flat = {place: name for name, place in namespaces(request).items()}
    schemas: dict[str, Schema] = {}
    searched = searches(request)
    for space, tool in each_tool(request):
        if searched and is_search(tool):
            schemas[SEARCH] = as_object(tool.get("parameters"))
        elif known := builtin_tools.of_responses(tool):
            schemas.setdefault(tool["type"], known[1])
        elif tool.get("type") in _CALLED and isinstance(tool.get("name"), str):
            name = flat.get((_name(space), tool["name"]), tool["name"])
            schemas[name] = FREEFORM if tool["type"] == "custom" else as_object(tool.get("parameters"))
    calls = sum(item.get("type") in ("function_call", "custom_tool_call") for item in objects(request.get("input")))
    return Tools(schemas, calls_so_far=calls, forbidden=_forbids(request))


def of_gemini(request: Mapping[str, Any]) -> Tools:
    """Returns the functions of a Gemini request, which Code Assist wraps; schemas may be OpenAPI's, with types in capitals."""
    asked = as_object(request.get("request")) or request
    schemas: dict[str, Schema] = {}
    tools = asked.get("tools")
    for tool in objects(tools if isinstance(tools, list) else [tools]):
        for entry in objects(tool.get("functionDeclarations") or tool.get("function_declarations")):
            if isinstance(entry.get("name"), str):
                given = (entry.get(key) for key in ("parametersJsonSchema", "parameters_json_schema", "parameters"))
                schemas[entry["name"]] = _lowered(next((schema for schema in map(as_object, given) if schema), {}))
    parts = (part for content in objects(asked.get("contents")) for part in objects(content.get("parts")))
    config = as_object(_either(_either(asked, "toolConfig", "tool_config"), "functionCallingConfig", "function_calling_config"))
    mode = config.get("mode")
    forbidden = isinstance(mode, str) and mode.upper() == "NONE"
    return Tools(schemas, calls_so_far=sum("functionCall" in part for part in parts), forbidden=forbidden)


def _either(value: Any, *names: str) -> Any:
    """Returns the member of an object under the first of the names that it has."""
    return next((as_object(value)[name] for name in names if name in as_object(value)), None)


def _forbids(request: Mapping[str, Any]) -> bool:
    """Whether a request of OpenAI's or Anthropic's APIs forbids calls."""
    choice = request.get("tool_choice", request.get("function_call"))
    return (choice.get("type") if isinstance(choice, Mapping) else choice) == "none"


def _lowered(schema: Any) -> Any:
    """Returns a schema with its types in lower case."""
    if isinstance(schema, list):
        return [_lowered(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        name: value.lower() if name == "type" and isinstance(value, str) else _lowered(value) for name, value in schema.items()
    }


def builtin(request: Mapping[str, Any]) -> frozenset[str]:
    """Returns the tools of a Responses request that its API defines and its client runs, unless another tool has the name."""
    tools = [tool for _, tool in each_tool(request)]
    found = {str(tool["type"]) for tool in tools if builtin_tools.of_responses(tool)}
    return frozenset(found - {_name(tool) for tool in tools})


def freeform(request: Mapping[str, Any]) -> frozenset[str]:
    """Returns the names of the freeform tools of a Responses request, those of a namespace by their flat names."""
    flat = {place: name for name, place in namespaces(request).items()}
    custom = [(_name(space), _name(tool)) for space, tool in each_tool(request) if tool.get("type") == "custom"]
    return frozenset(flat.get(place, place[1]) for place in custom if place[1])


OF: Mapping[str, Callable[[Mapping[str, Any]], Tools]] = {
    "chat": of_chat,
    "messages": of_messages,
    "responses": of_responses,
    "gemini": of_gemini,
    "ollama": of_chat,
}
"""Reads the tools of a request, by its API."""

_CALLED = ("function", "custom")
_ADDING = ("additional_tools", "tool_search_output")
"""The items of a Responses request that offer tools."""


def each_tool(request: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yields every tool of a Responses request with its namespace (empty if none), wherever it is offered."""
    items = [item for item in objects(request.get("input")) if item.get("type") in _ADDING]
    for offering in [request, *items]:
        for tool in objects(offering.get("tools")):
            if tool.get("type") == "namespace":
                yield from ((tool, inner) for inner in objects(tool.get("tools")))
            else:
                yield {}, tool


def namespaces(request: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Maps the flat name of each tool in a namespace of a Responses request to the namespace and its name there.

    A client finds a called tool by both, so a call of the flat name is returned with them. `functions` is the default namespace
    of clients; its tools are already flat.
    """
    tools = [(_name(space), tool["name"]) for space, tool in each_tool(request) if isinstance(tool.get("name"), str)]
    taken = {name for space, name in tools if not space or space == "functions"}
    found: dict[str, tuple[str, str]] = {}
    for space, name in dict.fromkeys(tools):
        if space and space != "functions":
            flat = joined(space, name)
            while flat in taken:
                flat += "_"
            taken.add(flat)
            found[flat] = space, name
    return found


SEARCH = "tool_search"
"""The type of the tool by which a client of Responses (Codex) searches for tools that it does not offer at once, and the name of
the function that replaces it for an upstream of another API.
"""


def is_search(tool: Mapping[str, Any]) -> bool:
    """Whether a tool, call or result belongs to the client's own tool search, not OpenAI's."""
    return str(tool.get("type")).startswith(SEARCH) and tool.get("execution") == "client"


def searches(request: Mapping[str, Any]) -> bool:
    """Whether a Responses request offers the client's tool search, and no other tool of that name."""
    tools = [tool for _, tool in each_tool(request)]
    return any(map(is_search, tools)) and not any(tool.get("name") == SEARCH for tool in tools)


def joined(namespace: str, name: str) -> str:
    """Returns a name with its namespace: `mcp__files` and `read` become `mcp__files__read`, as clients join them."""
    return name if namespace in ("", "functions") else f"{namespace.removesuffix('__')}__{name}"


def _name(space: Mapping[str, Any]) -> str:
    name = space.get("name")
    return name if isinstance(name, str) else ""
