"""Which boxes a pipeline is made of, for one request: what is looked for, in which order, and what is written.

    Answer(request, translated, "chat", "messages", settings, host)    what is known of the answer before it begins
    assemble(answer, new_id, fired, …)  →  Boxes

Rule of this file: it decides before the first byte, and reads none.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ..apis import APIS
from ..apis.codec import Codec, Decoder, Numbered, Reply, Writer, is_numbered, supports_runs
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
from .armed_dialects import armed
from .disabled_rules import RuleFilter
from .fastpath.run_opener import RunOpener
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
"""Transformers to which a run of deltas is what one is: if all are, lanes may open."""

_REPEATED = frozenset({"model", "n", "stream_options", "include", "logprobs", *ECHOED})
"""Members of a request that answers go by or say again, and all that is kept of it meanwhile: a stream may take an hour."""


class Transformer(Protocol):
    """See pipeline/transformers/__init__.py."""

    def feed(self, frame: Frame) -> Sequence[Frame]: ...
    def close(self) -> Sequence[Frame]: ...


@value
class AnswerContext:
    """What is known of an answer before it begins; the fields are as `Pipeline` has them."""

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
        """What is known of the model that answers."""
        model = self.translated.request.get("model") if self.translated else None
        found = profile_for(model, self.host, self.settings.providers)
        more = [name for name in self.seen if name not in found.dialects]
        return replace(found, dialects=(*found.dialects, *more)) if more else found

    @property
    def alone(self) -> bool:
        """Whether the host is left alone."""
        return self.settings.off.leaves(self.host)


@value
class Boxes:
    """`writer` None: the client speaks the upstream's API. `lanes`, `alive`, `policy`, `fit` None: there are none of them.

    `looks`: whether anything is looked for in the answer; if not, it passes as it is, but for its keep-alives. `thinks`: whether
    the model is known to write its reasoning into the text.
    """

    looks: bool
    decoder: Decoder
    codec: Codec
    writer: Writer | None
    markup: Markup
    policy: Policy | None
    fit: FitArguments | None
    transformers: Sequence[Transformer]
    thinks: bool
    alive: KeepAlives | None
    lanes: RunOpener | None
    counting: Sequence[Numbered]
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
    """The boxes of one answer; `new_id`, `fired` and `note` are the pipeline's, `let_go` and `now` as there."""
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
        # of a whole text, what earlier ones began with proves less than the text
        known: Beginning = "likely" if markup.whole and tags and profile.think_unopened else begins
        return MarkupParser(words, offered, choice, new_id, fired, known, whole=markup.whole)

    markup = Markup(new_reader)
    policy = policy_for(answer.settings, fired, choices=request.get("n"), let_go=let_go, now=now)
    transformers: list[Transformer] = [markup]
    if profile.name in ESCAPING and not answer.alone and ENTITIES not in off:
        transformers.append(Entities(fired))
    fit = None if answer.alone or {"argument_types", "argument_json"} <= off else FitArguments(offered, fired, off)
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
    lanes = None
    if supports_runs(codec) and all(isinstance(box, _WATCHED) for box in transformers):
        others = [box for box in transformers if isinstance(box, Entities | FitArguments | Duplicates | Naming)]
        lanes = RunOpener(codec, markup, others, translates=writer is not None)
    mends = answer.settings.dialects != () and not answer.alone and "keep_alive" not in off
    return Boxes(
        looks=bool(dialects) or writer is not None,
        decoder=api.decoder(),
        codec=codec,
        writer=writer,
        markup=markup,
        policy=policy,
        fit=fit,
        transformers=transformers,
        thinks=any(tag.known for tag in tags),
        alive=KeepAlives(fired, comments=api.comments) if mends or writer else None,
        lanes=lanes,
        counting=[box for box in (codec, writer) if is_numbered(box)],
        sought=SuspectContext(offered, frozenset(dialect.name for dialect in dialects)),
    )


def _used(answer: AnswerContext, *, written: bool) -> set[str]:
    """Ids that a call may not have: where a client is known to lose it, or all is written anew."""
    off = answer.alone or UNIQUE in answer.settings.off.rules
    return ids_of_calls(answer.request, answer.target) if written or (answer.target == "messages" and not off) else set()


def beginning(answer: AnswerContext, profile: Profile, tags: Sequence[ReasoningTags]) -> Beginning:
    """How the text of an answer begins: as this model's text did before at this host, or else as its profile has it."""
    if not any(tag.known for tag in tags):
        return "content"
    if answer.begins:
        return "reasoning" if answer.begins == "reasoning" else "content"
    asked = answer.translated.request if answer.translated else answer.request
    if not profile.think_unopened or is_off(asked):
        return "content"
    return "likely" if profile.think_always else "doubt"


def looked_for(answer: AnswerContext, offered: Tools, profile: Profile) -> tuple[list[Dialect], list[ReasoningTags]]:
    """What is looked for in the text, and of that the tags of reasoning."""
    off = answer.settings.off.rules
    prompted = answer.translated is not None and answer.translated.prompted
    settings = answer.settings
    names = None if settings.dialects is None else [name for name in settings.dialects if name in DIALECTS]
    dialects = [] if answer.alone else armed(names, profile, prompted=prompted, known=not settings.strangers)
    if not answer.alone:
        dialects = [*own_of(settings.own, settings.dialects), *dialects]
    dialects = [_of(dialect, offered) for dialect in dialects if dialect.name not in off]
    # of a model that nothing is known of they are believed, too, where the client's API has another place for them
    thinks = profile.think_tags or (answer.translates and answer.source == "chat" and profile.name == STANDARD)
    tags: list[ReasoningTags] = []
    if dialects and REASONING_TAGS.name not in off and (thinks or profile.name == STANDARD):
        lone: Lone = "line" if profile.name == STANDARD else "word"
        tags.append(reasoning_tags(profile.name, known=thinks, lone="nowhere" if "reasoning_end" in off else lone))
    roles = role_tokens(profile.name) if dialects and ROLE_TOKENS not in off else None
    own = [dialect for dialect in dialects if dialect.name in (names or profile.dialects)]
    left = [leftovers(own)] if own and LEFTOVERS not in off else []
    # without tools nothing is looked for (R18); tags are, where the stream is written anew in any case
    if offered.offered:
        return [*dialects, *tags, *left, *([roles] if roles else [])], tags
    return [*tags] if answer.translates else [], tags


def _of(dialect: Dialect, offered: Tools) -> Dialect:
    """A dialect that begins its calls with the names of the tools needs them."""
    return dialect.of(offered) if isinstance(dialect, HeadlessGemma | XMLCall) else dialect


def _naming(answer: AnswerContext, *, written: bool) -> list[Naming]:
    """What puts calls by the client's names, if that may be needed."""
    spaces, search = {}, ""
    if answer.target == "responses":
        spaces, search = namespaces(answer.request), SEARCH if searches(answer.request) else ""
    if answer.translated and written:
        own = builtin(answer.request) if answer.target == "responses" else frozenset()
        return [Naming(answer.translated.names, answer.translated.custom, spaces, search, builtin=own)]
    if answer.target == "responses":
        return [Naming({}, freeform(answer.request), spaces, search, native=False)]
    return []
