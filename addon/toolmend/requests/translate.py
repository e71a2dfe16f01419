"""A client's request → the upstream's: the reader of one API, what the upstream demands of any, the writer of the other.

    read ─► proofs of calls ─► prompted tools, or freeform ones as functions ─► order of turns ─► names ─► ids ─► write

Rule of this file: between two that speak the same API nothing is touched but the model, and where tools go into the
prompt, what that changes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from ..core import tools
from ..core.fastclass import replace
from . import RequestError, Translated, compaction, web_search
from .billing import unbilled
from .caching import with_breakpoints
from .call_signatures import proven
from .chat import api as chat
from .conversation import Conversation, Tool
from .custom_tools import as_functions
from .edits import edit_of, edited
from .fields import add_note
from .messages import api as messages
from .model_rules import settled, with_words
from .names import named
from .prompted import left_out, prompted
from .request_limits import Quirks, quirks_for
from .responses import api as responses
from .strip_envelopes import unsealed
from .tool_ids import with_ids
from .turn_order import tidied

type Read = Callable[[Mapping[str, Any], list[str]], Conversation]
type Write = Callable[[Conversation, Quirks, list[str]], dict[str, Any]]

APIS: Mapping[str, tuple[Read, Write]] = {
    "chat": (chat.read, chat.write),
    "messages": (messages.read, messages.write),
    "responses": (responses.read, responses.write),
}

TOLD = {
    "chat": ("messages", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"),
    "messages": ("system", "messages", "tools", "tool_choice"),
    "responses": ("instructions", "input", "tools", "tool_choice", "parallel_tool_calls"),
}
"""Where an API has the conversation and the tools: what is written anew where they are prompted."""


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
    """The upstream's request. Raises RequestError.

    `client` and `upstream` are APIs, `model` what the upstream is asked for where that is another, `host` the upstream's,
    `template` the prompt that tells the tools, for a model that has none; `system_role`: whether it knows that role;
    `facts` are known of this upstream beside its tables, as fields of Quirks: the user's own, and those learnt. `edits` are
    learnt changes, as `Quirks.refuses` has them, which are made last, and of a request in the client's own API as well.
    `compact`: the client of Responses asks for a compacted conversation, and for no answer.
    """
    if not isinstance(request, Mapping):
        raise RequestError("the request is no JSON object")
    try:
        told = {"system_role": system_role, "compact": compact}
        return _translate(request, client, upstream, model, host, template, facts, edits, **told)
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
    if same and (compact or compaction.asked(request, client)):
        same = quirks_for(upstream, host, model or str(request.get("model") or ""), facts).compaction
    if same and (compact or not (template and client in APIS)):
        return _same(request, upstream, model, host, edits, facts)
    request = compaction.with_trigger(request) if compact else request
    if client == "messages" and not same and (bare := unbilled(request, host)) is not request:
        add_note(notes, "`x-anthropic-billing-header` in front of the system's text is left out: it is for Anthropic alone")
        request = bare
    if client == "chat" and not same and request.get("n") not in (None, 1):
        raise RequestError("`n` is more than 1: this upstream gives one answer")
    conversation = APIS[client][0](request, notes)
    if model:
        conversation = replace(conversation, model=model)
    quirks = quirks_for(upstream, host, conversation.model, facts)
    compacts: Literal["", "item", "response"] = ""
    if not same and compaction.asked(request, client):
        compacts = "response" if compact else "item"
        conversation = compaction.asking(conversation, quirks, request, notes)
    if not same:
        web_search.check(conversation, quirks)
        conversation = _limited(conversation, web_search.restricted(conversation, quirks, upstream), notes)
    conversation = _offered(conversation, quirks, notes)
    conversation = proven(conversation, notes, taken=upstream == "chat" and quirks.details and not template)
    functions, custom = as_functions(conversation)
    if template:
        notes += left_out(conversation)
        told = prompted(conversation, template, system=system_role)
        if same and told is conversation:
            return _same(request, upstream, model, host, edits, facts)
        conversation = told
    elif not quirks.custom_tools:
        conversation = functions
    else:
        custom = frozenset()
    if not same:
        conversation = settled(conversation, quirks, upstream, notes)
    conversation = tidied(conversation, quirks, notes, system_inside=quirks.system_inside or same)
    if not same:
        conversation = with_breakpoints(conversation, quirks, notes)
    conversation, names = named(conversation, quirks.tool_name)
    conversation = with_ids(conversation, quirks.tool_id)
    written = APIS[upstream][1](conversation, quirks, notes)
    if quirks.refuses and not same:
        written = edited(written, map(edit_of, quirks.refuses), notes)
    if same:
        kept = {key: value for key, value in request.items() if key not in TOLD[upstream]}
        written = {**kept, **{key: written[key] for key in ("model", *TOLD[upstream]) if key in written}}
    written = edited(written, map(edit_of, edits), notes)
    offered = tools.OF[client](request) if template else tools.OF[upstream](written)  # the prompt has the client's names
    taken = frozenset(written.get("stop") or written.get("stop_sequences") or ())
    stop = tuple(sequence for sequence in conversation.stop if sequence and sequence not in taken)
    known = facts or {}
    return Translated(written, offered, names, custom, tuple(notes), stop, template, system_role, known, compacts, tuple(edits))


def _limited(conversation: Conversation, words: str, notes: list[str]) -> Conversation:
    """The conversation with a wish of the client's that the upstream has no field for."""
    if not words:
        return conversation
    add_note(notes, "The domains of the web search are in the prompt: this upstream's search has no such field")
    return with_words(conversation, words)


def _offered(conversation: Conversation, quirks: Quirks, notes: list[str]) -> Conversation:
    """The conversation without a choice of a tool that is not there: one that the provider runs, and no other does."""
    choice = conversation.tool_choice
    names = {tool.name for tool in conversation.tools if isinstance(tool, Tool)}
    names |= {web_search.NAME} if web_search.is_offered(conversation, quirks) else set()
    if choice is None or choice.mode != "tool" or names.issuperset(choice.names):
        return conversation
    add_note(notes, f"`tool_choice` is left out: the tool {choice.names[0]} that it demands is not offered here")
    return replace(conversation, tool_choice=None)


def _same(
    request: Mapping[str, Any], api: str, model: str, host: str, edits: Sequence[str], facts: Mapping[str, Any] | None
) -> Translated:
    """A request that goes on in its own API."""
    notes: list[str] = []
    forwarded = edited({**unsealed(request, api, host), **({"model": model} if model else {})}, map(edit_of, edits), notes)
    return Translated(forwarded, tools.OF[api](forwarded), notes=tuple(notes), facts=facts or {}, edits=tuple(edits))
