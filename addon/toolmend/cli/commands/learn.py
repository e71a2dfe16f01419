"""`toolmend learn`: infers a [[dialect]] table for the calls that a model left in its text, from recordings of them.

learning.py infers it, and nothing is written that was not proven on all other recordings.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import click

from ...apis import APIS
from ...config.checks import SettingsError
from ...config.config_file import read as read_file
from ...config.config_places import ConfigPlace, user_file
from ...config.data_folder import on_one_line, private
from ...config.dialect_tables import dialects, of_json, to_json, to_toml
from ...core.fastclass import replace
from ...core.tools import OF, Tools
from ...dialects import DIALECTS
from ...dialects.own import OwnDialect
from ...pipeline.suspects import find_suspects
from ...recordings.fixtures import fixture
from ...recordings.fixtures.promotion import prepare, put
from ...recordings.fixtures.verification import check
from ...recordings.harmless import texts
from ...recordings.learning import NothingLearnt, Sample, played
from ...recordings.learning import learn as inferred
from ...recordings.read.library import Entry
from ...recordings.read.message_json import message_of
from ...recordings.read.replay import Recording, RecordingError, load, replay
from .. import CliError, Exit, visible
from ..error_hints import ls_command, shell_line
from ..recordings import FLOW, Place, flows_option, list_recordings

SHOWN = 300
"""Characters that are printed of a text without calls."""

MAX_FLOWS = 64
"""Bound of the recordings with suspects that are used."""

MAX_REPLAYED, MAX_BODY = 100, 1024 * 1024
"""Bounds of the proof: other recordings that are replayed with and without the dialect, the newest ones, and bytes of a body.
In the rest, only the complete texts are searched for calls."""

MAX_FIXTURES = 8
"""Recordings that become fixtures."""


@click.command()
@click.argument("given", nargs=-1, metavar="[FLOW|FILE.sse]...")
@click.option("--suspect", is_flag=True, help="Learn from all recordings with text that looks like a call and was not made one.")
@click.option("--request", "requests", multiple=True, type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.json",
              help="The request with the tools of a FILE.sse; one for each, or one for all.")  # fmt: skip
@click.option("--from", "api", default="chat", metavar="API", help=f"The API of FILE.sse: {', '.join(APIS)} (default: chat).")
@click.option("--name", default="learnt", metavar="NAME", help="The name of the dialect.")
@click.option("--toml", "out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.toml", help="Add the table to it.")
@click.option("--write", is_flag=True, help="Add the table to the user's config without asking.")
@click.option("--promote", "case", default="", metavar="CASE",
              help=f"Make fixtures CASE, CASE-2 … of the first {MAX_FIXTURES} recordings, too.")  # fmt: skip
@flows_option("root")
@click.pass_context
def learn(
    ctx: click.Context,
    given: tuple[str, ...],
    suspect: bool,
    requests: tuple[Path, ...],
    api: str,
    name: str,
    out: Path | None,
    write: bool,
    case: str,
    root: Place,
) -> None:
    """Learn how a model writes its calls, from recordings of calls that were left in the text.

    \b
    Examples:
      toolmend learn last
      toolmend learn --suspect --write
      toolmend learn a.sse b.sse --request request.json --toml toolmend.toml

    The names and schemas of the offered tools show where the calls are; the text around them becomes a [[dialect]] table. It is
    printed with the calls that it finds, and proven: all other recordings and a set of texts about tools stay unchanged. Nothing
    leaves this machine. Exit code 1: nothing can be inferred, or only something ambiguous.
    """
    if api not in OF:
        raise click.UsageError(f"no such API with tools: {api!r}; choose one of: {', '.join(OF)}")
    if name in DIALECTS:
        raise click.UsageError(f"{name!r} is a built-in dialect: choose another --name")
    files = [Path(word) for word in given if Path(word).is_file()]
    flows = [FLOW.convert(word, None, ctx) for word in given if not Path(word).is_file()]
    if suspect:
        named = {flow.folder for flow in flows}
        flows += [one for one in list_recordings(root)[:1000] if one.suspects and one.folder not in named][:MAX_FLOWS]
    if not (files or flows):
        raise CliError("no recording or file to learn from", try_="toolmend flows --suspect", code=Exit.FINDINGS)
    if files and not requests:
        wrong = "a stream does not contain the tools: add --request FILE.json"
        raise CliError(wrong, try_="toolmend learn --help", code=Exit.USAGE)
    samples = [_sample_from_file(path, requests[min(number, len(requests) - 1)], api) for number, path in enumerate(files)]
    samples += [_sample_from_flow(flow) for flow in flows]
    try:
        fields = inferred(samples, name)
        (dialect,) = dialects("learnt", "", [fields])
    except NothingLearnt as error:
        hint = "toolmend dialects hermes --toml  (and write one by hand)"
        raise CliError(f"nothing was learnt: {error}", try_=hint, code=Exit.FINDINGS) from None
    except SettingsError as error:
        raise click.UsageError(f"--name: {error}") from None
    click.echo(to_toml(fields), nl=False)
    _show(dialect, samples)
    _prove(dialect, samples, root, {flow.folder for flow in flows})
    _put(fields, out, write=write)
    if case:
        _promote(dialect, flows, case)


def _sample_from_file(path: Path, request: Path, api: str) -> Sample:
    try:
        body, asked = path.read_bytes(), json.loads(request.read_bytes())
    except (OSError, ValueError) as error:
        raise CliError(
            f"{on_one_line(path)} and its request cannot be read: {error}", try_=ls_command(path), code=Exit.USAGE
        ) from None
    return _sample(body, asked, api, stream=not body.lstrip().startswith(b"{"))


def _sample_from_flow(flow: Entry) -> Sample:
    try:
        recording = load(flow.folder)
    except RecordingError as error:
        raise CliError(f"this recording cannot be read: {error}", try_="toolmend flows") from None
    api = flow.client_api if flow.client_api in OF else "chat"
    tools = OF[api](recording.request or {})
    return _chosen(_message(b"".join(recording.chunks), flow.api, stream=recording.stream), tools)


def _sample(body: bytes, request: Any, api: str, *, stream: bool) -> Sample:
    return _chosen(_message(body, api, stream=stream), OF[api](request if isinstance(request, dict) else {}))


def _message(body: bytes, api: str, *, stream: bool) -> dict[str, Any]:
    return message_of(api, BytesIO(body), stream=stream) or {"text": "", "reasoning": ""}


def _chosen(message: dict[str, Any], tools: Tools) -> Sample:
    """Returns a sample of the text, or of the reasoning if only that has a call."""
    text, reasoning = str(message["text"]), str(message["reasoning"])
    return Sample(reasoning if reasoning and not find_suspects(text, tools) and find_suspects(reasoning, tools) else text, tools)


def _show(dialect: OwnDialect, samples: Sequence[Sample]) -> None:
    """Prints the calls that the dialect finds, and the text that stays."""
    for number, sample in enumerate(samples, 1):
        calls, stays = played(dialect, sample.text, sample.tools)
        for called, arguments in calls:
            click.echo(visible(f"# {number}: {called} {json.dumps(arguments, ensure_ascii=False)}"))
        if stays.strip():
            click.echo(visible(f"# {number}: text {' '.join(stays.split())[:SHOWN]!r}"))


def _prove(dialect: OwnDialect, samples: Sequence[Sample], root: Place, learnt: set[Path]) -> None:
    """Checks that all other recordings stay unchanged, except those with suspects. Raises CliError."""
    others = mended = replayed = 0
    for one in list_recordings(root) if isinstance(root, Path) else ():
        if one.folder in learnt or one.state == "unreadable" or one.client_api not in OF:
            continue
        try:
            recording = load(one.folder)
        except RecordingError:
            continue
        tools = OF[one.client_api](recording.request or {})
        body = b"".join(recording.chunks)
        if not tools.schemas or not body:
            continue
        message = _message(body, one.api, stream=recording.stream)
        called = [call for text in (message["text"], message["reasoning"]) for call in played(dialect, text, tools)[0]]
        changed = bool(called)
        if not called and replayed < MAX_REPLAYED and len(body) <= MAX_BODY:
            replayed += 1
            changed = _is_changed(recording, dialect)
        others += 1
        mended += changed
        if changed and not one.suspects:
            found = f"find a call of {called[0][0]} in" if called else "change the answer of"
            wrong = f"the dialect would {found} {one.name}, which has no suspects"
            raise CliError(f"nothing was learnt: {wrong}", try_=shell_line("toolmend", "show", one.name), code=Exit.FINDINGS)
    harmless = sum(len(texts(sample.tools)) for sample in samples)
    more = f", and {mended} with suspects would be mended, too" if mended else ""
    same = f"{others - mended} other recordings ({replayed} replayed) and {harmless} texts about tools"
    click.echo(f"# {same} stay unchanged{more}")


def _is_changed(recording: Recording, dialect: OwnDialect) -> bool:
    """Whether the client would receive other bytes with the dialect."""
    settings = recording.meta.get("settings") or {}
    try:
        rows = of_json(settings.get("own_dialects", "[]"))
        own = to_json([*(row for row in rows if row.name != dialect.name), dialect])
        given = {**recording.meta, "settings": {**settings, "own_dialects": own}}
        return replay(recording)[0] != replay(replace(recording, meta=given))[0]
    except (RecordingError, SettingsError):  # it cannot be replayed by this version
        return False


def _put(fields: dict[str, Any], out: Path | None, *, write: bool) -> None:
    """Adds the table to a file, if the user wants that."""
    path = out or user_file()
    if path is None:
        return
    asks = not (out or write)
    if asks and not (sys.stdin.isatty() and click.confirm(f"Add it to {on_one_line(path)}?", err=True)):
        return
    try:
        if out is None:
            private(path.parent)
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        text = f"{before.rstrip()}\n\n{to_toml(fields)}".lstrip("\n")
        with tempfile.TemporaryDirectory() as folder:
            trial = Path(folder) / path.name
            trial.write_text(text, encoding="utf-8")
            read_file(ConfigPlace(trial, "toolmend learn"))
        path.write_text(text, encoding="utf-8")
        if not before:
            path.chmod(0o600)
    except SettingsError as error:
        where = f"{on_one_line(path)} would become invalid"
        raise CliError(f"{where}: {visible(str(error))}", try_="choose another --name", code=Exit.CONFIGURATION) from None
    except OSError as error:
        raise CliError(
            f"{on_one_line(path)} cannot be written: {error.strerror or error}", try_=ls_command(path.parent)
        ) from None
    click.echo(f"added to {on_one_line(path)}", err=True)


def _promote(dialect: OwnDialect, flows: Sequence[Entry], case: str) -> None:
    """Makes a fixture of each recording, replayed with the dialect."""
    if not flows:
        wrong = "a stream is not a recording, so it cannot become a fixture"
        raise CliError(wrong, try_="toolmend flows --suspect", code=Exit.USAGE)
    for number, flow in enumerate(flows[:MAX_FIXTURES], 1):
        _promote_one(dialect, flow, case if number == 1 else f"{case}-{number}")


def _promote_one(dialect: OwnDialect, flow: Entry, case: str) -> None:
    try:
        folder = fixture.home() / fixture.place(case, flow.provider)
        with tempfile.TemporaryDirectory() as place:
            copy = Path(shutil.copytree(flow.folder, Path(place) / flow.name))
            meta = json.loads((copy / "meta.json").read_bytes())
            meta["settings"] = {**meta.get("settings", {}), "own_dialects": to_json([dialect])}
            meta.pop("suspects", None)
            (copy / "meta.json").write_text(json.dumps(meta))
            promotion = prepare(copy, os.environ)
        if promotion.findings:
            wrong = f"the fixture was not written: this looks like a secret: {promotion.findings[0]}"
            raise CliError(wrong, try_="toolmend promote --help", code=Exit.FINDINGS)
        put(promotion, folder)
    except (RecordingError, ValueError) as error:
        raise CliError(f"the fixture is not valid: {error}", try_="toolmend promote --help", code=Exit.USAGE) from None
    except OSError as error:
        raise CliError(f"the fixture cannot be written: {error.strerror or error}", try_="toolmend promote --help") from None
    result = check(folder)
    click.echo(f"{on_one_line(folder)}: {'it passes' if result.passed else result.problem}", err=True)
