"""Creates and ends the parts of an exchange: pipeline, recording, meter and observers.

    lifecycle.start_recording(exchange, make_record)   the request has been sent: sets exchange.recording
    lifecycle.begin(exchange, make_record, …)          the response begins: sets .pipeline, .recording, .meter, .watcher as needed
    stream_for(exchange, undo)                         the stream callable of a response that streams
    lifecycle.end(exchange, flow, "complete")          ends all of them, and logs

1. Nothing here uses an HTTP response, so WebSocket exchanges use it, too.
2. An error here never changes the bytes of the exchange: the failed part is missing, and the error is logged at the end.
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
from ..pipeline.dialect_choice import SeenDialects
from ..pipeline.dry_run import DryRunPipeline
from ..pipeline.pipeline import Pipeline
from ..pipeline.suspects import NO_CONTEXT
from ..providers.reasoning_start import Beginnings, pair_of
from ..recordings.write.folder import EndDetails
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

MAX_LOGGED = 2000
"""Characters of a log line about an exchange: notes quote the request."""

CONVERSATION = ("messages", "input", "contents")
"""Members of a request that are unused once its pipeline is built: parsed, they take ten times the memory of their text."""

REFUSED = "refused_request"
"""What metrics call a request that was changed because its upstream refused it."""

_SET_UP = "the set-up is incomplete"

type MakeRecord = Callable[[Mapping[str, str]], ExchangeRecord]
"""Returns the record of an exchange that was mended with these settings."""


class ExchangeLifecycle:
    """All exchanges of an addon. `settings` may be replaced at any time; an exchange keeps those that it began with."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.recorder: Recorder | None = None
        self._spool: Spool | None = None
        self._observers = Observers(logger.warning)
        self._metering = Metering()
        self._beginnings = Beginnings()
        self._seen = SeenDialects()
        self.in_progress: WeakSet[LlmExchange] = WeakSet()
        self._addons: list[object] = []
        self._others: list[object] = []  # those in `_addons` that are not mitmproxy's own

    def configure(self, settings: Settings) -> None:
        """Applies new settings.

        Raises:
            SettingsError: The metrics endpoint cannot be served; the other settings are unchanged then.
        """
        self._metering.configure(settings.metrics)
        if settings.flows != self.settings.flows:
            self._end_recorder("recordings go to another folder from here on", wait=False)
            self._spool = _spool(settings.flows)
        if self.recorder:
            self.recorder.keep = settings.keep
        self.settings = settings

    def close(self) -> None:
        """Ends recording and counting at shutdown; exchanges in progress go on without."""
        if ctx.master.should_exit.is_set():
            self._end_recorder("the proxy was shut down", wait=True)
        else:
            self._end_recorder("the script was reloaded", wait=False)
        self._metering.close()

    def mends(self, api: str, settings: Settings | None = None) -> bool:
        """Returns whether responses of an API are mended, with these settings or the current ones."""
        return api in APIS and (settings or self.settings).dialects != ()

    def passes_unchanged(self, exchange: LlmExchange) -> bool:
        """Returns whether request and response pass unchanged. A routed exchange never does: it is for another upstream."""
        return not exchange.routed and (self.settings.mode == "observe" or self.settings.off.covers(exchange.host))

    def prepare(self, exchange: LlmExchange, request: Mapping[str, Any]) -> None:
        """Builds the pipeline before the response begins, if it does not depend on the response's headers."""
        exchange.settings = self.settings
        settings_used = self._settings_of(exchange)
        if settings_used.policy == "mixed" and self._uses_pipeline(exchange, settings_used):
            exchange.pipeline = self._pipeline(exchange, request, settings_used)
            exchange.request = {name: value for name, value in request.items() if name not in CONVERSATION}

    def start_recording(self, exchange: LlmExchange, make_record: MakeRecord) -> None:
        """Starts the recording when the request has been sent, so that an unanswered request is recorded, too."""
        with _isolated(exchange, _SET_UP):
            self._record(exchange, make_record(recorded(self._settings_of(exchange), exchange.upstream)))

    def _record(self, exchange: LlmExchange, record: ExchangeRecord) -> None:
        if exchange.recording and not exchange.recording.finished:
            exchange.recording.answered(record)
        elif recorder := self.recorder or self._new_recorder():
            self.recorder = recorder
            exchange.recording = recorder.start(record)
            self.in_progress.add(exchange)

    def begin(
        self,
        exchange: LlmExchange,
        make_record: MakeRecord,
        request: Mapping[str, Any] | None,
        flow_id: str,
        *,
        mend: bool,
        let_go: bool = False,
    ) -> None:
        """Handles the begin of a response. What fails is appended to the exchange's errors.

        Args:
            exchange: The exchange.
            make_record: Makes the exchange's record.
            request: The client's request; None if it cannot be parsed.
            flow_id: The flow's id, for observers.
            mend: Whether the response is a success with a body.
            let_go: See Pipeline.
        """
        ready, exchange.pipeline = exchange.pipeline, None
        settings_used, host = self._settings_of(exchange), exchange.upstream
        settings = recorded(settings_used, host)
        addons: Iterable[object] = ()
        with _isolated(exchange, _SET_UP):
            addons = self._observer_addons()
            exchange.watcher = self._observers.watcher(addons, exchange.api, flow_id)
        with _isolated(exchange, _SET_UP):
            profiles = self.settings.providers
            exchange.meter = self._metering.meter(addons, lambda: (make_record(settings), exchange.profile(profiles)))
        with _isolated(exchange, _SET_UP):
            if request is not None and mend and self._uses_pipeline(exchange, settings_used):
                exchange.pipeline = ready or self._pipeline(exchange, request, settings_used, let_go=let_go)
                settings |= {"let_go": "yes"} if exchange.pipeline.lets_go else {}
                settings |= {"text_begins": exchange.pipeline.begins} if exchange.pipeline.begins else {}
                settings |= {"seen_dialects": " ".join(exchange.pipeline.seen)} if exchange.pipeline.seen else {}
        with _isolated(exchange, _SET_UP):
            self._record(exchange, make_record(settings))

    def _observer_addons(self) -> list[object]:
        """Returns the addons that may have observer methods, of nested scripts, too. None of mitmproxy's forty has."""
        addons = list(ctx.master.addons.lookup.values())
        if addons != self._addons:
            self._addons, self._others = addons, [addon for addon in addons if not is_builtin(addon)]
        return self._others

    def _settings_of(self, exchange: LlmExchange) -> Settings:
        settings = exchange.settings or self.settings
        return replace(settings, mode="mend") if exchange.routed else settings

    def _uses_pipeline(self, exchange: LlmExchange, settings: Settings) -> bool:
        """Returns whether a response goes through a pipeline."""
        if exchange.routed and exchange.routed.compact and not exchange.routed.translated.compacts:  # no model answers
            return False
        mends = self.mends(exchange.source, settings) and not settings.off.covers(exchange.upstream)
        return mends or exchange.api != exchange.source

    def _pipeline(
        self, exchange: LlmExchange, request: Mapping[str, Any], settings: Settings, *, let_go: bool = False
    ) -> Pipeline:
        routed, observed = exchange.routed, settings.mode == "observe"
        model = (routed.route.use_model if routed else "") or request.get("model") or ""
        exchange.model_at_host = pair_of(exchange.upstream, str(model)[:200], request)
        return (DryRunPipeline if observed else Pipeline)(
            request,
            source=exchange.source,
            target=exchange.api,
            settings=settings,
            host=exchange.upstream,
            let_go=let_go and not observed,
            translated=routed.translated if routed else exchange.translated,
            begins=self._beginnings.of(exchange.model_at_host),
            seen=self._seen.of(*exchange.model_at_host[:2]),
        )

    def end(self, exchange: LlmExchange, flow: http.HTTPFlow, state: str, message: str | None = None) -> None:
        """Ends an exchange; `state` as in a recording's meta.json, `message` is mitmproxy's error."""
        pipeline, recording = exchange.pipeline, exchange.recording
        rules = list(pipeline.rules) if pipeline else []
        if pipeline and exchange.model_at_host and not pipeline.error:
            self._beginnings.learn(exchange.model_at_host, pipeline.began)
            self._seen.learn(*exchange.model_at_host[:2], rules)
        if pipeline and pipeline.error:
            then = "the rest passed unchanged" if exchange.api == exchange.source else "the client got an error"
            exchange.errors.append(f"mending stopped, and {then}: {pipeline.error}")
        with _isolated(exchange, "the observers did not get the end"):
            if exchange.watcher:
                exchange.watcher.close() if state == "complete" else exchange.watcher.fail(message or state)
        with _isolated(exchange, "the end was not counted"):
            if exchange.meter:
                rules_counted = [*rules, *([REFUSED] if exchange.refused else [])]
                exchange.meter.finish(state, rules_counted, exchange.errors, pipeline.sought if pipeline else NO_CONTEXT)
        self._finish(exchange, state, message)
        error = _all_errors(exchange, None if state in NO_ERROR else message)
        folder = recording.place if recording else None
        observed = isinstance(pipeline, DryRunPipeline)
        flow.metadata["toolmend"] = {"api": exchange.api, "rules": rules, "folder": folder, "error": error}
        flow.metadata["toolmend"] |= {"observed": True} if observed else {}
        subject = flow_info.printable(f"{exchange.host} {exchange.model}".rstrip())
        place = f" (recorded in {on_one_line(folder)})" if folder else ""
        if rules:
            mended = f"{'would mend:' if observed else 'mended'} {', '.join(rules)}"
            flow.comment = "; ".join(text for text in (flow.comment, f"toolmend {mended}") if text)
            flow.marked = flow.marked or (":eyes:" if observed else ":wrench:")
            logger.info("toolmend: %s: %s%s", subject, mended, place)
        for note in pipeline.notes if pipeline else exchange.notes:
            logger.info("toolmend: %s: %s%s", subject, flow_info.printable(note, MAX_LOGGED), place)
        if exchange.errors:
            logger.warning("toolmend: %s: %s%s", subject, flow_info.printable("; ".join(exchange.errors), MAX_LOGGED), place)

    def give_up(self, exchange: LlmExchange, flow: http.HTTPFlow, message: str, gave_up: str, status: int = 0) -> None:
        """Ends an exchange that no LLM answered.

        Args:
            exchange: The exchange.
            flow: Its flow.
            message: mitmproxy's error, or what was received.
            gave_up: Which side gave up, as the log has it.
            status: The status of a response that was received.
        """
        waited = flow_info.waited_ms(flow.request)
        summary = f"waited {(waited or 0) / 1000:.1f} s, {gave_up}"
        self._finish(exchange, "unanswered", f"{summary}: {message.removesuffix('.')}", waited_ms=waited, status=status)
        folder = exchange.recording.place if exchange.recording else None
        flow.metadata["toolmend"] = {"api": exchange.api, "rules": [], "folder": folder, "error": summary, "unanswered": summary}

    def _finish(self, exchange: LlmExchange, state: str, message: str | None, **fields: Unpack[EndDetails]) -> None:
        """Ends the recording of an exchange."""
        self.in_progress.discard(exchange)
        with _isolated(exchange, "the recording was not finished"):
            if exchange.recording:
                rules = exchange.pipeline.rules if exchange.pipeline else ()
                error = _all_errors(exchange, None)
                unreadable = exchange.stream is not None and exchange.stream.unreadable
                if exchange.pipeline:
                    fields["sought"] = exchange.pipeline.sought
                words = EndDetails(error=error, end=message, fault=exchange.fault, unreadable=unreadable, **fields)
                exchange.recording.finish(state, rules=rules, ids=exchange.ids, **words)

    def adopt(self, earlier: "ExchangeLifecycle") -> None:
        """Makes exchanges of the instance before a reload record to this instance's recorder."""
        earlier.settings = replace(earlier.settings, flows=self.settings.flows)
        self.recorder = earlier.recorder = self.recorder or self._new_recorder()
        earlier.in_progress = self.in_progress

    def _new_recorder(self) -> Recorder | None:
        """Returns a new recorder, or None if nothing is to be recorded or the folder cannot be used, which is logged."""
        root = self.settings.flows
        if self._spool:
            root = self._spool.folder if self._spool.ready() else None
        if not isinstance(root, Path):
            return None
        return Recorder(root, logger.warning, self.settings.keep, self._metering.lost, self._spool)

    def _end_recorder(self, why: str, *, wait: bool) -> None:
        """Ends all recordings in progress. `wait`: for the disk and the store; streams in progress must not wait."""
        for exchange in list(self.in_progress):
            self._finish(exchange, "partial", why)
        if self.recorder:
            self.recorder.close(PATIENCE if wait or self._spool else 0)  # a spool needs the finished files
            self.recorder = None
        if self._spool:
            self._spool.close(wait=wait)
            self._spool = None


def stream_for(
    exchange: LlmExchange, undo: ContentDecoder, then: Callback | None = None, *, mends: bool = True
) -> ResponseStream:
    """Returns the stream callable of an exchange. `mends` False: the bytes pass, the rest is done as before."""
    stream: ResponseStream
    if not (mends and exchange.pipeline) and undo.coded and exchange.routed and guarded(exchange.routed.route.key):
        stream = Plain(exchange.api, undo, exchange.recording, then, exchange.errors)
    elif not (mends and exchange.pipeline):
        stream = Tee(undo, exchange.recording, then, exchange.errors)
    elif isinstance(exchange.pipeline, DryRunPipeline):
        stream = Observe(exchange.pipeline, undo, exchange.recording, then, exchange.errors)
    else:
        stream = Mend(exchange.pipeline, undo, exchange.recording, then, exchange.errors)
    stream.watcher, stream.meter = exchange.watcher, exchange.meter
    return stream


def _spool(flows: "Path | StoreUrl | None") -> "Spool | None":
    """Returns the spool for recordings that go to a store, and starts the upload of what was left there."""
    if not flows or isinstance(flows, Path):
        return None
    from ..recordings.write.spool import Spool  # noqa: PLC0415  an optional extra

    spool = Spool(flows, logger.warning)
    spool.ready()
    return spool


@contextmanager
def _isolated(exchange: LlmExchange, what: str) -> Iterator[None]:
    """Isolates a failure: appends it to the exchange's errors, which are logged at its end."""
    try:
        yield
    except Exception as error:
        exchange.errors.append(f"{what}: {reason(error)}")


def _all_errors(exchange: LlmExchange, message: str | None) -> str | None:
    """Returns all errors of an exchange; `message` is mitmproxy's own."""
    return "; ".join(([message] if message else []) + exchange.errors) or None


def warm_up(settings: Settings) -> None:
    """Compiles what a first stream would wait for: the pattern of all openers takes 100 ms, those of a route's key 20 ms."""
    for route in settings.routes:
        masked(b"", guarded(route.key))
        StreamMask(guarded(route.key))
    for model, host in {("", ""), *((route.use_model, route.to.netloc) for route in settings.routes)}:
        pipeline = Pipeline({"model": model, "tools": [{"function": {"name": "a"}}]}, settings=settings, host=host)
        pipeline.feed(b'data: {"choices":[{"index":0,"delta":{"content":"."}}]}\n\n')
