"""`toolmend explain`: explains in words what was done to a recorded response, and why.

explanation.py finds the changes, and rules.py has the texts.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import click

from ...core.fastclass import replace
from ...pipeline.rules import rule
from ...recordings.read.explanation import Change, changes
from ...recordings.read.library import Entry
from ...recordings.read.replay import Recording, RecordingError, load, own_names, replay
from ...recordings.read.suspected import remedy_of
from .. import CliError, visible
from ..error_hints import shell_line
from ..recordings import FLOW, flows_option

FORMAT = 1
"""The version of the `--json` output."""

SHOWN = 12
"""Changes that are printed one by one."""


@click.command()
@click.argument("flow", type=FLOW)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@flows_option()
def explain(flow: Entry, as_json: bool) -> None:
    """Explain which rules changed a response, where, and why.

    \b
    Examples:
      toolmend explain last
      toolmend explain flows/kimi/no-section
      toolmend explain last --json | jq '.changes[].rules'

    The recording is replayed through the current toolmend, event by event; events are counted from 1.
    """
    try:
        recording = load(flow.folder)
        if flow.observed:  # explain what would have been changed
            settings = {name: value for name, value in flow.settings.items() if name != "mode"}
            recording = replace(recording, meta={**recording.meta, "settings": settings})
        client, rules = replay(recording)
        found = list(changes(recording)) if rules else []
    except RecordingError as error:
        raise CliError(f"this recording cannot be replayed: {error}", try_="toolmend flows") from None
    if as_json:
        click.echo(json.dumps(_document(flow, recording, client, rules, found), indent=2))
        return
    for line in _lines(flow, recording, client, rules, found):
        click.echo(visible(line))


def _lines(flow: Entry, recording: Recording, client: bytes, rules: Sequence[str], found: Sequence[Change]) -> Iterator[str]:
    yield f"{flow.name}: {flow.model or 'an unknown model'} at {flow.host}, {flow.state.replace('_', ' ')}"
    if flow.client_api != flow.api:
        yield f"The upstream speaks {flow.api}, the client {flow.client_api}: everything is translated."
        for note in flow.notes:
            yield f"The request: {note}."
    if flow.observed:
        yield "It was observed: nothing was changed. What follows is what would have been changed."
    if not rules:
        untouched = client == b"".join(recording.chunks)
        yield "No rule was applied: the client got the upstream's bytes unchanged." if untouched else "No rule was applied."
    for name in rules:
        words = rule(name, own_names(recording.meta))
        yield ""
        yield f"{name}{_event_ranges([change for change in found if name in change.rules])}"
        yield f"  {words.what}"
        yield f"  Why: {words.why}"
    for change in found[:SHOWN]:
        yield ""
        yield f"{_span(change)}: {', '.join(change.rules) or 'held back, or written again'}"
        yield f"  came  {change.came or 'nothing that a client shows'}"
        yield f"  went  {change.went or 'nothing'}"
    if len(found) > SHOWN:
        yield ""
        yield f"… and {len(found) - SHOWN} more places; --json lists them all"
    for suspect in flow.suspects:
        yield ""
        yield f"Suspected: it looks like a call{' of ' + suspect['name'] if suspect.get('name') else ''}, and was not made one."
        yield f"  looks    {suspect.get('text', '')}"
        yield f"  why      {suspect.get('why', '')}"
        yield f"  mend it  {remedy_of(suspect, flow)}"
    if client != recording.client and not flow.observed:
        yield ""
        yield "At the time the client got something else: this is what the current toolmend does."
        yield f"try: {shell_line('toolmend', 'verify', flow.place)}"


def _event_ranges(places: Sequence[Change]) -> str:
    """Returns the events of the changes."""
    spans = [_span(change) for change in places[:3]]
    more = f" and {len(places) - 3} more places" if len(places) > 3 else ""
    return f", at {', '.join(spans)}{more}" if spans else ""


def _span(change: Change) -> str:
    if not change.first:
        return "the end"
    after = f" ({change.time:.2f} s)" if change.time else ""
    return (f"event {change.first}" if change.first == change.last else f"events {change.first} to {change.last}") + after


def _document(flow: Entry, recording: Recording, client: bytes, rules: Sequence[str], found: Sequence[Change]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "name": flow.name,
        "folder": flow.place,
        "model": flow.model,
        "host": flow.host,
        "api": flow.api,
        "client_api": flow.client_api,
        "observed": flow.observed,
        "as_recorded": client == recording.client,
        "rules": [{"name": name, **asdict(rule(name, own_names(recording.meta)))} for name in rules],
        "changes": [asdict(change) for change in found],
        "suspects": [{**suspect, "remedy": remedy_of(suspect, flow)} for suspect in flow.suspects],
    }
