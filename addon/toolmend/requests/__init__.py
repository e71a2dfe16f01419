"""Translates requests from the client's API to the upstream's, and prompts tools for models without tool calling.

    client's request ─► reader of its API ─► Conversation ─► [prompted tools] ─► writer of the upstream's API ─► forwarded

Everything that the upstream's API cannot express is left out and recorded in `notes`.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from ..core.fastclass import value
from ..core.tools import Tools


class RequestError(ValueError):
    """The upstream cannot serve the request. The client gets a status 400 with the message: the reason, and what to do."""


@value
class Translated:
    """A translated request, and what is needed to translate its response.

    Attributes:
        request: The body for the upstream.
        tools: The tools offered to the model, by the upstream's names, prompted or native.
        names: Upstream's name of a tool → client's name, where they differ.
        custom: The client's names of its freeform tools.
        notes: One sentence for each thing that was left out.
        stop: Stop sequences that the upstream does not accept.
        template: The name of the prompt template that describes the tools; empty for native tools.
        system_role: Whether the model's chat template has a system role.
        facts: Facts about the upstream from the settings, or learnt from its refusals.
        compacts: The response must be a summary of the conversation: as an item or block, or as a `/responses/compact` response.
        edits: The edits that were applied to the request.
    """

    request: dict[str, Any]
    tools: Tools
    names: Mapping[str, str] = field(default_factory=dict)
    custom: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()
    template: str = ""
    system_role: bool = True
    facts: Mapping[str, Any] = field(default_factory=dict)
    compacts: Literal["", "item", "response"] = ""
    edits: tuple[str, ...] = ()

    @property
    def prompted(self) -> bool:
        """Whether the prompt describes the tools."""
        return bool(self.template)


from .translate import translate  # noqa: E402 (its modules import the classes above)

__all__ = ["RequestError", "Translated", "translate"]
