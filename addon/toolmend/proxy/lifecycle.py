"""What goes along with a call: its pipeline, its recording, who counts it, who looks on. It begins and ends with the answer.

    exchanges.ask(call, about)                 call.recording is there: the request has gone out
    exchanges.begin(call, about, …)            call.pipeline, call.recording, call.meter, call.watcher are there, as far as wanted
    stream_of(call, undo)                      what the pieces of the answer go through, where they come one by one
    exchanges.end(call, flow, "complete")      all of them are told, and the log

Rule of this file: it knows no HTTP response, so that whatever a call's answer comes by can use it. What goes along with a call
never costs a byte of it: what cannot be had is missing, and is told of at the end.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack
from weakref import WeakSet

from mitmproxy import ctx, http

from ..apis import APIS
from ..config.data_folder import on_one_line
from ..config.settings import Settings, recorded
from ..core.content_encoding import ContentDecoder
from ..core.exchange_record import ExchangeRecord
from ..core.fastclass import replace
from ..pipeline.dry_run import Observed
from ..pipeline.pipeline import Pipeline
from ..pipeline.seen_dialects import SeenDialects
from ..pipeline.suspects import NOTHING_SOUGHT
from ..providers.reasoning_start import Beginnings, pair_of
from ..recordings.write.folder import Words
from ..recordings.write.recorder import PATIENCE, Recorder
from ..secrets.stream_mask import StreamMask, guarded, masked
from ..telemetry.meter import NO_ERROR
from ..telemetry.metering import Metering
from ..telemetry.observers import Observers
from . import flow_info
from .dry_run import Observe
from .exchange import LlmExchange
from .patches.hook_dispatch import is_builtin
from .stream_callbacks import Callback, Mend, Plain, ResponseStream, Tee, reason

if TYPE_CHECKING:
    from ..config.store_url import StoreUrl
    from ..recordings.write.spool import Spool

logger = logging.getLogger(__name__)

MAX_SAID = 2000
"""Characters of what a line of the log says of a call: notes quote the request."""

CONVERSATION = ("messages", "input", "contents")
"""Members of a request that nothing needs once a pipeline is made of it: parsed, they are ten times their text."""

REFUSED = "refused_request"
"""What metrics call it, beside the rules: a request was changed as its upstream refused it."""

_SET_UP = "not all could be set up"

type About = Callable[[Mapping[str, str]], ExchangeRecord]
"""What a recording is to say of an exchange that was mended by these settings."""


class ExchangeLifecycle:
    """Of all calls. `settings` may be set anew at any time; a call that has begun keeps those it began with."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.recorder: Recorder | None = None
        self._spool: Spool | None = None
        self._observers = Observers(logger.warning)
        self._metering = Metering()
        self._beginnings = Beginnings()
        self._seen = SeenDialects()
        self.under_way: WeakSet[LlmExchange] = WeakSet()
        self._addons: list[object] = []
        self._others: list[object] = []  # of those, the ones that are not mitmproxy's own

    def configure(self, settings: Settings) -> None:
        """Raises SettingsError; then nobody of ours counts, and else nothing is changed."""
        self._metering.configure(settings.metrics)
        if settings.flows != self.settings.flows:
            self._end_recorder("recordings go elsewhere from here on", wait=False)
            self._spool = _spool(settings.flows)
        if self.recorder:
            self.recorder.keep = settings.keep
        self.settings = settings

    def close(self) -> None:
        """At shutdown: calls that have not ended go on, and nothing more is recorded or counted of them."""
        if ctx.master.should_exit.is_set():
            self._end_recorder("the proxy was shut down", wait=True)
        else:
            self._end_recorder("the script was loaded anew", wait=False)
        self._metering.close()

    def mends(self, api: str, settings: Settings | None = None) -> bool:
        """Whether answers of an API are mended at all, by these settings, or as they are now."""
        return api in APIS and (settings or self.settings).dialects != ()

    def leaves(self, call: LlmExchange) -> bool:
        """Whether request and answer pass as they are. What a route takes does not: it is for another upstream."""
        return not call.routed and (self.settings.mode == "observe" or self.settings.off.leaves(call.host))

    def prepare(self, call: LlmExchange, request: Mapping[str, Any]) -> None:
        """The answer is not there yet, and all that a pipeline has to know of it is that it mends. It is made now."""
        call.settings = self.settings
        given = self._given(call)
        if given.policy == "mixed" and self._mended(call, given):
            call.pipeline = self._pipeline(call, request, given)
            call.request = {name: value for name, value in request.items() if name not in CONVERSATION}

    def ask(self, call: LlmExchange, about: About) -> None:
        """The request has gone out. Its recording begins, so that one that is never answered is seen."""
        with _apart(call, _SET_UP):
            self._record(call, about(recorded(self._given(call), call.upstream)))

    def _record(self, call: LlmExchange, exchange: ExchangeRecord) -> None:
        if call.recording and not call.recording.finished:
            call.recording.answered(exchange)
        elif recorder := self.recorder or self._new_recorder():
            self.recorder = recorder
            call.recording = recorder.start(exchange)
            self.under_way.add(call)

    def begin(
        self,
        call: LlmExchange,
        about: About,
        request: Mapping[str, Any] | None,
        flow_id: str,
        *,
        mend: bool,
        let_go: bool = False,
    ) -> None:
        """An answer begins. `request` is the client's; None where it cannot be read. `let_go`: see Pipeline.

        `mend`: whether it is an answer at all, and no error. What goes wrong is put into the call's errors.
        """
        ready, call.pipeline = call.pipeline, None
        given, host = self._given(call), call.upstream
        settings = recorded(given, host)
        addons: Iterable[object] = ()
        with _apart(call, _SET_UP):
            addons = self._looking_on()
            call.watcher = self._observers.watcher(addons, call.api, flow_id)
        with _apart(call, _SET_UP):
            call.meter = self._metering.meter(addons, lambda: (about(settings), call.profile(self.settings.providers)))
        with _apart(call, _SET_UP):
            if request is not None and mend and self._mended(call, given):
                call.pipeline = ready or self._pipeline(call, request, given, let_go=let_go)
                settings |= {"let_go": "yes"} if call.pipeline.lets_go else {}
                settings |= {"text_begins": call.pipeline.begins} if call.pipeline.begins else {}
                settings |= {"seen_dialects": " ".join(call.pipeline.seen)} if call.pipeline.seen else {}
        with _apart(call, _SET_UP):
            self._record(call, about(settings))

    def _looking_on(self) -> list[object]:
        """The addons that may look on, those of scripts too; of forty that mitmproxy has, none does."""
        addons = list(ctx.master.addons.lookup.values())
        if addons != self._addons:
            self._addons, self._others = addons, [addon for addon in addons if not is_builtin(addon)]
        return self._others

    def _given(self, call: LlmExchange) -> Settings:
        settings = call.settings or self.settings
        return replace(settings, mode="mend") if call.routed else settings

    def _mended(self, call: LlmExchange, settings: Settings) -> bool:
        """Whether an answer goes through a pipeline."""
        if call.routed and call.routed.compact and not call.routed.translated.compacts:  # it is no answer
            return False
        mends = self.mends(call.source, settings) and not settings.off.leaves(call.upstream)
        return mends or call.api != call.source

    def _pipeline(self, call: LlmExchange, request: Mapping[str, Any], settings: Settings, *, let_go: bool = False) -> Pipeline:
        routed, observed = call.routed, settings.mode == "observe"
        model = (routed.route.use_model if routed else "") or request.get("model") or ""
        call.pair = pair_of(call.upstream, str(model)[:200], request)
        return (Observed if observed else Pipeline)(
            request,
            source=call.source,
            target=call.api,
            settings=settings,
            host=call.upstream,
            let_go=let_go and not observed,
            translated=routed.translated if routed else call.translated,
            begins=self._beginnings.of(call.pair),
            seen=self._seen.of(*call.pair[:2]),
        )

    def end(self, call: LlmExchange, flow: http.HTTPFlow, state: str, message: str | None = None) -> None:
        """The end of a call, however it came: `state` as in a recording's meta.json, `message` mitmproxy's own."""
        pipeline, recording = call.pipeline, call.recording
        rules = list(pipeline.rules) if pipeline else []
        if pipeline and call.pair and not pipeline.error:
            self._beginnings.learn(call.pair, pipeline.began)
            self._seen.learn(*call.pair[:2], rules)
        if pipeline and pipeline.error:
            then = "what followed went out as it came" if call.api == call.source else "the client got an error"
            call.errors.append(f"mending stopped, and {then}: {pipeline.error}")
        with _apart(call, "those who look on were not told of the end"):
            if call.watcher:
                call.watcher.close() if state == "complete" else call.watcher.fail(message or state)
        with _apart(call, "the end was not counted"):
            if call.meter:
                said = [*rules, *([REFUSED] if call.refused else [])]
                call.meter.finish(state, said, call.errors, pipeline.sought if pipeline else NOTHING_SOUGHT)
        self._finish(call, state, message)
        error = _wrong(call, None if state in NO_ERROR else message)
        folder = recording.place if recording else None
        observed = isinstance(pipeline, Observed)
        flow.metadata["toolmend"] = {"api": call.api, "rules": rules, "folder": folder, "error": error}
        flow.metadata["toolmend"] |= {"observed": True} if observed else {}
        about = flow_info.printable(f"{call.host} {call.model}".rstrip())
        place = f" (recorded in {on_one_line(folder)})" if folder else ""
        if rules:
            mended = f"{'would mend:' if observed else 'mended'} {', '.join(rules)}"
            flow.comment = "; ".join(text for text in (flow.comment, f"toolmend {mended}") if text)
            flow.marked = flow.marked or (":eyes:" if observed else ":wrench:")
            logger.info("toolmend: %s: %s%s", about, mended, place)
        for note in pipeline.notes if pipeline else call.notes:
            logger.info("toolmend: %s: %s%s", about, flow_info.printable(note, MAX_SAID), place)
        if call.errors:
            logger.warning("toolmend: %s: %s%s", about, flow_info.printable("; ".join(call.errors), MAX_SAID), place)

    def give_up(self, call: LlmExchange, flow: http.HTTPFlow, message: str, who: str, status: int = 0) -> None:
        """The end of a call that no LLM answered; `who` did not wait any longer, or did not answer. `status` of what came."""
        waited = flow_info.waited_ms(flow.request)
        told = f"waited {(waited or 0) / 1000:.1f} s, {who}"
        self._finish(call, "unanswered", f"{told}: {message.removesuffix('.')}", waited_ms=waited, status=status)
        folder = call.recording.place if call.recording else None
        flow.metadata["toolmend"] = {"api": call.api, "rules": [], "folder": folder, "error": told, "unanswered": told}

    def _finish(self, call: LlmExchange, state: str, message: str | None, **more: Unpack[Words]) -> None:
        """The end of what is recorded of a call."""
        self.under_way.discard(call)
        with _apart(call, "the recording was not finished"):
            if call.recording:
                rules = call.pipeline.rules if call.pipeline else ()
                wrong = _wrong(call, None)
                unreadable = call.stream is not None and call.stream.unreadable
                if call.pipeline:
                    more["sought"] = call.pipeline.sought
                words = Words(error=wrong, end=message, fault=call.fault, unreadable=unreadable, **more)
                call.recording.finish(state, rules=rules, ids=call.ids, **words)

    def lend(self, before: "ExchangeLifecycle") -> None:
        """What those that are closed still have to record goes where ours does."""
        before.settings = replace(before.settings, flows=self.settings.flows)
        self.recorder = before.recorder = self.recorder or self._new_recorder()
        before.under_way = self.under_way

    def _new_recorder(self) -> Recorder | None:
        """None where nothing is to be recorded, or cannot be; that is said."""
        root = self.settings.flows
        if self._spool:
            root = self._spool.folder if self._spool.ready() else None
        if not isinstance(root, Path):
            return None
        return Recorder(root, logger.warning, self.settings.keep, self._metering.lost, self._spool)

    def _end_recorder(self, why: str, *, wait: bool) -> None:
        """What is under way is recorded no further. `wait`: for the disk and the store, which streams may not."""
        for call in list(self.under_way):
            self._finish(call, "partial", why)
        if self.recorder:
            self.recorder.close(PATIENCE if wait or self._spool else 0)  # a spool takes what is finished
            self.recorder = None
        if self._spool:
            self._spool.close(wait=wait)
            self._spool = None


def stream_of(call: LlmExchange, undo: ContentDecoder, then: Callback | None = None, *, mends: bool = True) -> ResponseStream:
    """What an answer's stream goes through, once it has begun; `mends` False: all passes, and the rest is done as before."""
    stream: ResponseStream
    if not (mends and call.pipeline) and undo.coded and call.routed and guarded(call.routed.route.key):
        stream = Plain(call.api, undo, call.recording, then, call.errors)
    elif not (mends and call.pipeline):
        stream = Tee(undo, call.recording, then, call.errors)
    elif isinstance(call.pipeline, Observed):
        stream = Observe(call.pipeline, undo, call.recording, then, call.errors)
    else:
        stream = Mend(call.pipeline, undo, call.recording, then, call.errors)
    stream.watcher, stream.meter = call.watcher, call.meter
    return stream


def _spool(flows: "Path | StoreUrl | None") -> "Spool | None":
    """Where recordings wait that go to a store; what was left there before goes up from now on."""
    if not flows or isinstance(flows, Path):
        return None
    from ..recordings.write.spool import Spool  # noqa: PLC0415  an extra, which few have

    spool = Spool(flows, logger.warning)
    spool.ready()
    return spool


@contextmanager
def _apart(call: LlmExchange, what: str) -> Iterator[None]:
    """What fails in here costs nothing else; it is told of at the end of the call."""
    try:
        yield
    except Exception as error:
        call.errors.append(f"{what}: {reason(error)}")


def _wrong(call: LlmExchange, message: str | None) -> str | None:
    """All that went wrong with a call; `message` is mitmproxy's own."""
    return "; ".join(([message] if message else []) + call.errors) or None


def warm(settings: Settings) -> None:
    """Has what a first stream would wait for made now: the pattern of all openers takes 100 ms, those of a route's key 20 ms."""
    for route in settings.routes:
        masked(b"", guarded(route.key))
        StreamMask(guarded(route.key))
    for model, host in {("", ""), *((route.use_model, route.to.netloc) for route in settings.routes)}:
        pipeline = Pipeline({"model": model, "tools": [{"function": {"name": "a"}}]}, settings=settings, host=host)
        pipeline.feed(b'data: {"choices":[{"index":0,"delta":{"content":"."}}]}\n\n')
