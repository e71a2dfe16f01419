"""Requests: from the API a client speaks to the one its upstream does, and tools for models that have none.

    client's request ─► reader of its API ─► Conversation ─► [prompted tools] ─► writer of the upstream's API ─► forwarded

Rule of this file: what cannot be said in the upstream's API is left out and told in `notes`, never dropped silently.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from ..core.fastclass import value
from ..core.tools import Tools


class RequestError(ValueError):
    """The request cannot be served by this upstream; the message says why, and what to do. A status 400 for the client."""


@value
class Translated:
    """`request` is the upstream's. `tools`: what the model was offered, by the upstream's names, prompted or not.

    `names` maps the upstream's name of a tool to the client's, where they differ; `custom` holds the client's names of its
    freeform tools; `notes` what was left out, a sentence each; `stop` the stop sequences that the upstream does not take;
    `template` the prompt that told the tools, if that was needed, to a model that has a `system_role` or none; `facts` what the
    user's settings hold of the upstream, or was learnt of it, and `edits` the changes that were. `compacts`: the answer is to be
    a summary of the conversation, as an item or a block, or as the response that `/responses/compact` has.
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
        """Whether the model was told of its tools in its prompt."""
        return bool(self.template)


from .translate import translate  # noqa: E402 (its parts raise what stands above)

__all__ = ["RequestError", "Translated", "translate"]
