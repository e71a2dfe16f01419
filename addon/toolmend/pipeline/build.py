"""Builds the parts of a pipeline for one request: what is searched for, in which order, and what is written.

    AnswerContext(request, translated, "chat", "messages", settings, host)    what is known before the answer begins
    assemble(answer, new_id, fired, …)  →  Boxes

All decisions are made before the first byte.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ..apis import APIS
from ..apis.codec import Codec, Decoder, Reply, Writer, is_numbered, supports_runs
from ..apis.responses.usage import ECHOED
from ..core.events import Frame
from ..core.fastclass import replace, value
from ..core.keep_alive import KeepAlives
from ..core.tools import SEARCH, UNKNOWN, Tools, builtin, freeform, namespaces, searches
from ..dialects import DIALECTS, REASONING_TAGS, Dialect
from ..dialects.engine.emitter import Beginning
from ..dialects.engine.markup_parser import MarkupParser
from ..dialects.engine.opener_index import opener_index
from ..dialects.families.gemma import HeadlessGemma
from ..dialects.families.leftovers import NAME as LEFTOVERS
from ..dialects.families.leftovers import leftovers
from ..dialects.families.reasoning_tags import Lone, ReasoningTags, reasoning_tags
from ..dialects.families.role_tokens import NAME as ROLE_TOKENS
from ..dialects.families.role_tokens import role_tokens
from ..dialects.families.xml_call import XMLCall
from ..dialects.own import own_of
from ..providers.hosts import provider
from ..providers.model_profiles import ESCAPING, STANDARD, Profile, profile_for
from ..providers.thinking import is_off
from ..requests import Translated
from ..requests.clients import is_brief, is_codex
from ..requests.compaction import kept_messages
from ..requests.estimate import tokens
from ..requests.web_search import query_in
from .chunk_reader import RunContext
from .dialect_choice import armed
from .disabled_rules import RuleFilter
from .settings import MendSettings
from .suspects import SuspectContext
from .transformers.arguments import FitArguments
from .transformers.duplicates import Duplicates
from .transformers.entities import RULE as ENTITIES
from .transformers.entities import Entities
from .transformers.finish import FinishReason
from .transformers.markup import Markup
from .transformers.policy import Policy, policy_for
from .transformers.refusal import Refusal
from .transformers.stop_sequences import StopSequences
from .transformers.summary import CompactionSummary
from .transformers.tool_names import Naming
from .transformers.unique_ids import RULE as UNIQUE
from .transformers.unique_ids import UniqueIds, ids_of_calls

_WATCHED = (Markup, Entities, FitArguments, Duplicates, UniqueIds, FinishReason, Refusal, Naming)
"""Transformers for which a run of deltas is equivalent to one delta: if there are no others, runs may pass."""

_REPEATED = frozenset({"model", "n", "stream_options", "include", "logprobs", *ECHOED})
"""Members of a request that answers depend on or repeat. Nothing else of it is kept: a stream may take an hour."""


class Transformer(Protocol):
    """See pipeline/transformers/__init__.py."""

    def feed(self, frame: Frame) -> Sequence[Frame]: ...
    def close(self) -> Sequence[Frame]: ...


@value
class AnswerContext:
    """What is known of an answer before it begins. Fields as in `Pipeline`."""

    request: Mapping[str, Any]
    translated: Translated | None
    source: str
    target: str
    settings: MendSettings
    host: str
    begins: str = ""
    seen: Sequence[str] = ()

    @property
    def translates(self) -> bool:
        """Whether the client speaks another API, or gets something else than the upstream's answer."""
        return self.source != self.target or bool(self.translated and self.translated.compacts)

    @property
    def offered(self) -> Tools:
        """The tools that a call may name."""
        return self.translated.tools.also(self.translated.names) if self.translated else UNKNOWN

    @property
    def profile(self) -> Profile:
        """The profile of the model that answers."""
        model = self.translated.request.get("model") if self.translated else None
        found = profile_for(model, self.host, self.settings.providers)
        more = [name for name in self.seen if name not in found.dialects]
        return replace(found, dialects=(*found.dialects, *more)) if more else found

    @property
    def is_off(self) -> bool:
        """Whether the host is left alone."""
        return self.settings.off.covers(self.host)


@value
class Boxes:
    """The parts of a pipeline. `writer` is None if the client speaks the upstream's API.

    Attributes:
        searches: Something is searched for in the answer; if not, only its keep-alives may change.
        decoder: Splits its bytes into events.
        codec: Decodes and encodes the upstream's API.
        writer: Writes the client's API, if that is another one.
        markup: The first transformer.
        policy: The policy, unless it is mixed.
        fit: The transformer that fits arguments, unless its rules are off.
        transformers: All transformers.
        text_reasoning: The model is known to write its reasoning into the text.
        keep_alives: Repairs keep-alives, unless that is off.
        runs: What decides whether deltas may pass in runs; None: they never may.
        sought: For suspects.py.
    """

    searches: bool
    decoder: Decoder
    codec: Codec
    writer: Writer | None
    markup: Markup
    policy: Policy | None
    fit: FitArguments | None
    transformers: Sequence[Transformer]
    text_reasoning: bool
    keep_alives: KeepAlives | None
    runs: RunContext | None
    sought: SuspectContext


def assemble(
    answer: AnswerContext,
    new_id: Callable[[], str],
    fired: Callable[[str], None],
    note: Callable[[str], None],
    *,
    let_go: bool,
    now: Callable[[], float],
) -> Boxes:
    """Builds the parts for one answer.

    Args:
        answer: What is known of it.
        new_id: Returns an id like `call_…`.
        fired: Called with the rules.
        note: Called with what a translation drops.
        let_go: The caller can end the response early.
        now: Returns seconds.
    """
    api, off, request = APIS[answer.source], answer.settings.off.rules, answer.request
    offered, profile = answer.offered, answer.profile
    dialects, tags = looked_for(answer, offered, profile)
    reply = Reply(
        offered,
        new_id,
        fired,
        {name: request[name] for name in _REPEATED if name in request},
        profile.reasoning_field or "reasoning_content",
        tokens(request, answer.target) if answer.translates else 0,
        answer.translates,
        note if answer.translates else lambda _: None,
        query_in(request) if answer.translates and answer.target == "messages" else None,
        brief=is_brief(request),
        codex=answer.target == "responses" and is_codex(request),
        compacts=answer.translated.compacts if answer.translated else "",
        kept=kept_messages(request) if answer.translated and answer.translated.compacts == "response" else (),
        bare_end=provider(answer.host) == "chatgpt",  # Codex's own backend
        repairs="argument_json" not in off,
    )
    codec = RuleFilter(api.codec, reply, off) if off else api.codec(reply)
    make_writer = APIS[answer.target].writer if answer.translates else None
    writer = make_writer(reply) if make_writer else None
    begins = beginning(answer, profile, tags)
    words = opener_index(dialects)

    def new_reader(choice: int) -> MarkupParser:
        # for a whole text, the text itself shows more than earlier answers do
        known: Beginning = "likely" if markup.whole and tags and profile.think_unopened else begins
        return MarkupParser(words, offered, choice, new_id, fired, known, whole=markup.whole)

    markup = Markup(new_reader)
    policy = policy_for(answer.settings, fired, choices=request.get("n"), let_go=let_go, now=now)
    transformers: list[Transformer] = [markup]
    if profile.name in ESCAPING and not answer.is_off and ENTITIES not in off:
        transformers.append(Entities(fired))
    fit = None if answer.is_off or {"argument_types", "argument_json"} <= off else FitArguments(offered, fired, off)
    if fit:
        transformers.append(fit)
    if "duplicate_call" not in off:
        transformers.append(Duplicates(fired))
    if used := _used(answer, written=writer is not None):
        transformers.append(UniqueIds(used, offered.calls_so_far, (lambda _: None) if writer else fired))
    if policy:
        transformers.append(policy)
    if answer.translated and answer.translated.stop and writer:
        transformers.append(StopSequences(answer.translated.stop, fired))
    if writer or api.has_calls_reason:
        transformers.append(FinishReason(fired, off))
    if writer:
        transformers.append(Refusal(as_text=reply.codex))
    transformers += _naming(answer, written=writer is not None)
    if reply.compacts:
        transformers.append(CompactionSummary())
    runs = None
    if supports_runs(codec) and all(isinstance(box, _WATCHED) for box in transformers):
        busy = [box for box in transformers if isinstance(box, Entities | FitArguments | Duplicates | Naming)]
        numbered = [box for box in (codec, writer) if is_numbered(box)]
        runs = RunContext(codec, markup, busy, numbered, translates=writer is not None, may_wait=True)
    repairs = answer.settings.dialects != () and not answer.is_off and "keep_alive" not in off
    return Boxes(
        searches=bool(dialects) or writer is not None,
        decoder=api.decoder(),
        codec=codec,
        writer=writer,
        markup=markup,
        policy=policy,
        fit=fit,
        transformers=transformers,
        text_reasoning=any(tag.known for tag in tags),
        keep_alives=KeepAlives(fired, comments=api.comments) if repairs or writer else None,
        runs=runs,
        sought=SuspectContext(offered, frozenset(dialect.name for dialect in dialects)),
    )


def _used(answer: AnswerContext, *, written: bool) -> set[str]:
    """Ids that a call must not have: if the client is known to drop it, or all is written from events."""
    off = answer.is_off or UNIQUE in answer.settings.off.rules
    return ids_of_calls(answer.request, answer.target) if written or (answer.target == "messages" and not off) else set()


def beginning(answer: AnswerContext, profile: Profile, tags: Sequence[ReasoningTags]) -> Beginning:
    """How the text of an answer begins: as before for this model at this host, or else as in its profile."""
    if not any(tag.known for tag in tags):
        return "content"
    if answer.begins:
        return "reasoning" if answer.begins == "reasoning" else "content"
    asked = answer.translated.request if answer.translated else answer.request
    if not profile.think_unopened or is_off(asked):
        return "content"
    return "likely" if profile.think_always else "doubt"


def looked_for(answer: AnswerContext, offered: Tools, profile: Profile) -> tuple[list[Dialect], list[ReasoningTags]]:
    """Returns the dialects to search for in the text, and the reasoning tags among them."""
    off = answer.settings.off.rules
    prompted = answer.translated is not None and answer.translated.prompted
    settings = answer.settings
    names = None if settings.dialects is None else [name for name in settings.dialects if name in DIALECTS]
    dialects = [] if answer.is_off else armed(names, profile, prompted=prompted, known=not settings.strangers)
    if not answer.is_off:
        dialects = [*own_of(settings.own, settings.dialects), *dialects]
    dialects = [_of(dialect, offered) for dialect in dialects if dialect.name not in off]
    # for an unknown model, tags count as known if the client's API has another place for reasoning
    text_reasoning = profile.think_tags or (answer.translates and answer.source == "chat" and profile.name == STANDARD)
    tags: list[ReasoningTags] = []
    if dialects and REASONING_TAGS.name not in off and (text_reasoning or profile.name == STANDARD):
        lone: Lone = "line" if profile.name == STANDARD else "word"
        tags.append(reasoning_tags(profile.name, known=text_reasoning, lone="nowhere" if "reasoning_end" in off else lone))
    roles = role_tokens(profile.name) if dialects and ROLE_TOKENS not in off else None
    own = [dialect for dialect in dialects if dialect.name in (names or profile.dialects)]
    left = [leftovers(own)] if own and LEFTOVERS not in off else []
    # without tools only tags are searched for (R18), and only if the stream is written from events
    if offered.offered:
        return [*dialects, *tags, *left, *([roles] if roles else [])], tags
    return [*tags] if answer.translates else [], tags


def _of(dialect: Dialect, offered: Tools) -> Dialect:
    """Dialects whose calls begin with a tool's name need the offered tools."""
    return dialect.of(offered) if isinstance(dialect, HeadlessGemma | XMLCall) else dialect


def _naming(answer: AnswerContext, *, written: bool) -> list[Naming]:
    """Returns the transformer that renames calls, if it may be needed."""
    spaces, search = {}, ""
    if answer.target == "responses":
        spaces, search = namespaces(answer.request), SEARCH if searches(answer.request) else ""
    if answer.translated and written:
        own = builtin(answer.request) if answer.target == "responses" else frozenset()
        return [Naming(answer.translated.names, answer.translated.custom, spaces, search, builtin=own)]
    if answer.target == "responses":
        return [Naming({}, freeform(answer.request), spaces, search, native=False)]
    return []
