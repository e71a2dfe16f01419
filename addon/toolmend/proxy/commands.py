"""Commands for mitmproxy's console, mitmweb's command bar, and other addons.

    : toolmend.flows kimi              the newest recordings with the word in their name, host, model or agent
    : toolmend.promote @focus case     makes the flow under the cursor (or a recording's name, or `last`) a fixture
    : toolmend.stats                   counts since the start

They are small front ends of recordings/read/library.py and recordings/fixtures/promotion.py.
"""

import os
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from weakref import WeakSet

from mitmproxy import command, ctx, exceptions, flow, http
from mitmproxy.types import Data

from ..config import options
from ..config.store_url import is_url
from ..recordings.read.library import Entry, NotFound, entries, entry, find

MAX_ROWS = 100
"""Bound of the listed recordings: `toolmend flows` lists more."""

HEAD = ["name", "time", "agent", "host", "model", "state", "rules"]


class Commands:
    """The addon. It must come after Toolmend, whose metadata in the flows it counts."""

    name = "toolmend.proxy.commands"

    def __init__(self) -> None:
        self.since = datetime.now(UTC)
        self.counts: Counter[str] = Counter()
        self._counted: WeakSet[flow.Flow] = WeakSet()

    def response(self, flow: http.HTTPFlow) -> None:
        noted = flow.metadata.get("toolmend")
        if noted is None or flow in self._counted:
            return
        self._counted.add(flow)
        self.counts["responses"] += 1
        self.counts["mended"] += bool(noted["rules"])
        self.counts["went wrong"] += bool(noted["error"])
        self.counts.update(f"rule {rule}" for rule in set(noted["rules"]))

    def error(self, flow: http.HTTPFlow) -> None:
        self.response(flow)

    @command.command("toolmend.flows")  # type: ignore[untyped-decorator]
    def flows(self, word: str = "") -> Data:
        """List the newest recordings, or those with a word in their name, host, model, agent or rules."""
        found = [one for one in entries(_root()) if word.lower() in _words(one).lower()][:MAX_ROWS]
        return [HEAD, *map(_row, found)]  # type: ignore[return-value]

    @command.command("toolmend.promote")  # type: ignore[untyped-decorator]
    def promote(self, recording: str, case: str) -> str:
        """Make a fixture of a recording: @focus, its name or a prefix of it, or `last`. CASE is a name, or provider/name."""
        from ..recordings.fixtures import fixture  # noqa: PLC0415  rarely used
        from ..recordings.fixtures.promotion import prepare, put  # noqa: PLC0415
        from ..recordings.read.replay import RecordingError  # noqa: PLC0415

        one = _focused(recording) if recording[:1] in ("@", "~") else _named(recording)
        try:
            folder = fixture.home() / fixture.place(case, one.provider)
            promotion = prepare(one.folder, os.environ)
            if promotion.findings:
                places = ", ".join(str(finding) for finding in promotion.findings[:5])
                raise exceptions.CommandError(f"nothing was written: this looks like a secret: {places}")
            put(promotion, folder)
        except (RecordingError, OSError, ValueError) as error:
            raise exceptions.CommandError(str(error)) from None
        return f"{folder}: rules applied: {', '.join(promotion.rules) or 'none'}"

    @command.command("toolmend.stats")  # type: ignore[untyped-decorator]
    def stats(self) -> Data:
        """Show how many responses came since the start, and how many were mended."""
        rules = sorted(name for name in self.counts if name.startswith("rule "))
        names = ("responses", "mended", "went wrong", *rules)
        since = f"{self.since.astimezone():%Y-%m-%d %H:%M:%S}"
        return [["since", since], *([name, str(self.counts[name])] for name in names)]  # type: ignore[return-value]


def _root() -> Path:
    folder = options.settings().flows
    if folder is None:
        raise exceptions.CommandError("nothing is recorded: toolmend_flows is off")
    if not isinstance(folder, Path):  # streams would wait for the store
        raise exceptions.CommandError(f"recordings go to {folder}: run in a terminal: toolmend flows {folder}")
    return folder


def _named(word: str) -> Entry:
    try:
        return find(_root(), word)
    except NotFound as error:
        raise exceptions.CommandError(str(error)) from None


def _focused(words: str) -> Entry:
    """Returns the recording of the flow that a flow specification of mitmproxy selects, as @focus or ~u something."""
    if "view.flows.resolve" not in ctx.master.commands.commands:
        raise exceptions.CommandError("mitmdump has no flow list: give the name of a recording, or last")
    noted = [one.metadata.get("toolmend") or {} for one in ctx.master.commands.call("view.flows.resolve", words)]
    folders = {str(note["folder"]) for note in noted if note.get("folder")}
    if len(folders) != 1:
        raise exceptions.CommandError(f"{words} selects {len(folders)} recordings: select one")
    folder = folders.pop()
    if is_url(folder):
        raise exceptions.CommandError(f"the recording is in a store: run in a terminal: toolmend promote {folder} CASE")
    return entry(Path(folder))


def _words(one: Entry) -> str:
    return " ".join((one.name, one.host, one.model, one.agent, *one.rules))


def _row(one: Entry) -> list[str]:
    time = f"{one.recorded_at.astimezone():%Y-%m-%d %H:%M:%S}" if one.recorded_at.timestamp() else ""
    return [one.name, time, one.agent, one.host, one.model, one.state.replace("_", " "), ", ".join(one.rules)]
