"""The tools that a request offers: what a call may name, and of which types its parameters are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

type Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Tools:
    """`schemas` maps an offered tool's name to the JSON schema of its parameters.

    `known` is False where the request is not at hand: then any name may be called. `calls_so_far` counts the calls that the
    conversation already holds; Kimi numbers its ids over the whole of it. `legacy`: the client offers `functions`, as was
    done before there were `tools`, and waits for a `function_call`.
    """

    schemas: Mapping[str, Schema] = field(default_factory=dict)
    known: bool = True
    calls_so_far: int = 0
    legacy: bool = False

    @property
    def offered(self) -> bool:
        """Whether a call can be expected at all."""
        return bool(self.schemas) or not self.known

    def __contains__(self, name: str) -> bool:
        return name in self.schemas or not self.known

    def properties(self, name: str) -> Mapping[str, Any]:
        """The declared parameters of a tool."""
        properties = self.schemas.get(name, {}).get("properties")
        return properties if isinstance(properties, Mapping) else {}

    def fitting(self, arguments: Mapping[str, Any]) -> list[str]:
        """The tools that declare every one of these arguments, and that miss none they require."""
        return [
            name
            for name, schema in self.schemas.items()
            if arguments.keys() <= self.properties(name).keys() and set(_strings(schema.get("required"))) <= arguments.keys()
        ]


UNKNOWN = Tools(known=False)


def of_chat(request: Mapping[str, Any]) -> Tools:
    """The tools of a Chat Completions request: `tools[].function`, or the older `functions[]`."""
    schemas: dict[str, Schema] = {}
    for entry in [*_objects(request.get("tools")), *_objects(request.get("functions"))]:
        inner = entry.get("function", entry.get("custom", entry))
        if isinstance(inner, Mapping) and isinstance(inner.get("name"), str):
            parameters = inner.get("parameters")
            schemas[inner["name"]] = parameters if isinstance(parameters, Mapping) else {}
    calls = sum(len(_objects(message.get("tool_calls"))) for message in _objects(request.get("messages")))
    return Tools(schemas, calls_so_far=calls, legacy=not request.get("tools"))


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def _strings(value: Any) -> list[str]:
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []
