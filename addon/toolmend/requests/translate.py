"""Translates a client's request to the upstream's API: reader of one API, adaptation to the upstream, writer of the other.

    read ─► call signatures ─► prompted tools, or custom tools as functions ─► order of turns ─► names ─► ids ─► write

Within one API only the model changes, the edits apply, and prompted tools change the members in CONTENT.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from ..core import tools
from ..core.fastclass import replace
from . import RequestError, Translated, compaction, web_search
from .billing import without_billing_line
from .caching import with_breakpoints
from .call_signatures import with_call_signatures
from .chat import api as chat
from .conversation import Conversation, Tool
from .custom_tools import as_functions
from .edits import apply_edits, edit_of
from .fields import add_note
from .messages import api as messages
from .model_rules import with_instruction, without_conflicts
from .names import with_legal_names
from .prompted import left_out, prompted
from .request_limits import Quirks, quirks_for
from .responses import api as responses
from .strip_envelopes import without_envelopes
from .tool_ids import with_ids
from .turn_order import normalised

type Read = Callable[[Mapping[str, Any], list[str]], Conversation]
type Write = Callable[[Conversation, Quirks, list[str]], dict[str, Any]]

APIS: Mapping[str, tuple[Read, Write]] = {
    "chat": (chat.read, chat.write),
    "messages": (messages.read, messages.write),
    "responses": (responses.read, responses.write),
}

CONTENT = {
    "chat": ("messages", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"),
    "messages": ("system", "messages", "tools", "tool_choice"),
    "responses": ("instructions", "input", "tools", "tool_choice", "parallel_tool_calls"),
}
"""Members with the conversation and the tools: a request within one API has these rewritten if tools are prompted."""


def translate(
    request: Any,
    client: str,
    upstream: str,
    *,
    model: str = "",
    host: str = "",
    template: str = "",
    system_role: bool = True,
    facts: Mapping[str, Any] | None = None,
    compact: bool = False,
    edits: Sequence[str] = (),
) -> Translated:
    """Returns the upstream's request.

    Args:
        request: The client's parsed body.
        client: The client's API.
        upstream: The upstream's API.
        model: The upstream's model, if it differs from the client's.
        host: The upstream's host.
        template: The prompt that describes the tools, for a model without tool calling.
        system_role: Whether the model has a system role.
        facts: Fields of Quirks that override the tables: the user's own, and those learnt from refusals.
        edits: Learnt edits in the form of `Quirks.refuses`; applied last, and to requests within one API as well.
        compact: Whether the client called `/responses/compact`: it expects a summary, not an answer.

    Raises:
        RequestError: The request is malformed, or the upstream cannot serve it.
    """
    if not isinstance(request, Mapping):
        raise RequestError("the request is not a JSON object")
    try:
        switches = {"system_role": system_role, "compact": compact}
        return _translate(request, client, upstream, model, host, template, facts, edits, **switches)
    except RecursionError:
        raise RequestError("the request is nested too deeply") from None


def _translate(
    request: Mapping[str, Any],
    client: str,
    upstream: str,
    model: str,
    host: str,
    template: str,
    facts: Mapping[str, Any] | None,
    edits: Sequence[str],
    *,
    system_role: bool,
    compact: bool,
) -> Translated:
    same = client == upstream
    notes: list[str] = []
    if same and (compact or compaction.is_compaction_request(request, client)):
        same = quirks_for(upstream, host, model or str(request.get("model") or ""), facts).compaction
    if same and (compact or not (template and client in APIS)):
        return _within_api(request, upstream, model, host, edits, facts)
    request = compaction.with_trigger(request) if compact else request
    if client == "messages" and not same and (bare := without_billing_line(request, host)) is not request:
        add_note(notes, "`x-anthropic-billing-header` in front of the system's text is left out: it is for Anthropic alone")
        request = bare
    if client == "chat" and not same and request.get("n") not in (None, 1):
        raise RequestError("`n` is more than 1: this upstream gives one answer")
    conversation = APIS[client][0](request, notes)
    if model:
        conversation = replace(conversation, model=model)
    quirks = quirks_for(upstream, host, conversation.model, facts)
    compacts: Literal["", "item", "response"] = ""
    if not same and compaction.is_compaction_request(request, client):
        compacts = "response" if compact else "item"
        conversation = compaction.with_summary_prompt(conversation, quirks, request, notes)
    if not same:
        web_search.check(conversation, quirks)
        conversation = _with_search_domains(conversation, web_search.domain_instruction(conversation, quirks, upstream), notes)
    conversation = _with_offered_choice(conversation, quirks, notes)
    conversation = with_call_signatures(conversation, notes, accepted=upstream == "chat" and quirks.details and not template)
    functions, custom = as_functions(conversation)
    if template:
        notes += left_out(conversation)
        with_prompt = prompted(conversation, template, system=system_role)
        if same and with_prompt is conversation:
            return _within_api(request, upstream, model, host, edits, facts)
        conversation = with_prompt
    elif not quirks.custom_tools:
        conversation = functions
    else:
        custom = frozenset()
    if not same:
        conversation = without_conflicts(conversation, quirks, upstream, notes)
    conversation = normalised(conversation, quirks, notes, system_inside=quirks.system_inside or same)
    if not same:
        conversation = with_breakpoints(conversation, quirks, notes)
    conversation, names = with_legal_names(conversation, quirks.tool_name)
    conversation = with_ids(conversation, quirks.tool_id)
    written = APIS[upstream][1](conversation, quirks, notes)
    if quirks.refuses and not same:
        written = apply_edits(written, map(edit_of, quirks.refuses), notes)
    if same:
        kept = {key: value for key, value in request.items() if key not in CONTENT[upstream]}
        written = {**kept, **{key: written[key] for key in ("model", *CONTENT[upstream]) if key in written}}
    written = apply_edits(written, map(edit_of, edits), notes)
    offered = tools.OF[client](request) if template else tools.OF[upstream](written)  # the prompt has the client's names
    taken = frozenset(written.get("stop") or written.get("stop_sequences") or ())
    stop = tuple(sequence for sequence in conversation.stop if sequence and sequence not in taken)
    known = facts or {}
    return Translated(written, offered, names, custom, tuple(notes), stop, template, system_role, known, compacts, tuple(edits))


def _with_search_domains(conversation: Conversation, instruction: str, notes: list[str]) -> Conversation:
    """Adds the instruction for the domains of a web search to the prompt."""
    if not instruction:
        return conversation
    add_note(notes, "The domains of the web search are in the prompt: this upstream's search has no such field")
    return with_instruction(conversation, instruction)


def _with_offered_choice(conversation: Conversation, quirks: Quirks, notes: list[str]) -> Conversation:
    """Removes a choice of a tool that is not offered, such as one that only the client's provider runs."""
    choice = conversation.tool_choice
    names = {tool.name for tool in conversation.tools if isinstance(tool, Tool)}
    names |= {web_search.NAME} if web_search.is_offered(conversation, quirks) else set()
    if choice is None or choice.mode != "tool" or names.issuperset(choice.names):
        return conversation
    add_note(notes, f"`tool_choice` is left out: the tool {choice.names[0]} that it demands is not offered here")
    return replace(conversation, tool_choice=None)


def _within_api(
    request: Mapping[str, Any], api: str, model: str, host: str, edits: Sequence[str], facts: Mapping[str, Any] | None
) -> Translated:
    """The request for an upstream with the client's API."""
    notes: list[str] = []
    forwarded = {**without_envelopes(request, api, host), **({"model": model} if model else {})}
    forwarded = apply_edits(forwarded, map(edit_of, edits), notes)
    return Translated(forwarded, tools.OF[api](forwarded), notes=tuple(notes), facts=facts or {}, edits=tuple(edits))
