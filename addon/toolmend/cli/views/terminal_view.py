"""Prints a recording at a terminal: see document.py for the document.

Text from outside is printed without terminal control characters and never as rich's markup. Long texts are shortened with a note,
unless everything is wanted.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ...config.data_folder import on_one_line

TURNS = 6
"""Turns of the conversation that are shown: the last ones, which the answer refers to."""

LINES = 6
"""Lines of a text that are shown."""

WIDTH = 400
"""Characters of a line that are shown."""

EVENTS = 60
"""Events that are shown: two screens."""

AROUND = 1
"""Unchanged events that are shown before and after a difference."""

BARS = "▁▂▃▄▅▆▇█"
STYLES = {"held": "yellow", "released": "yellow", "changed": "blue", "added": "green", "translated": "green", "same": "dim"}

type Document = Mapping[str, Any]


def print_view(document: Document, *, whole: bool) -> None:
    """Prints a document: all of it, or what is useful first."""
    console = Console(highlight=False)
    for part in (
        _facts(document),
        *_request(document, whole=whole),
        *_answers(document, whole=whole),
        *_rules(document),
        *_suspects(document),
        *_time(document, console.width),
        *_events(document, whole=whole),
        *(_headers(document) if whole else ()),
    ):
        console.print(part)


def _text(value: Any, style: str = "", *, lines: int = 0) -> Text:
    """Returns text from outside in a safe form, cut to `lines` lines."""
    found = str(value).expandtabs(4).split("\n")
    more = len(found) - lines if lines and len(found) > lines + 1 else 0
    if lines:
        found = [line if len(line) <= WIDTH else f"{line[:WIDTH]} … {len(line) - WIDTH:,} characters more" for line in found]
    kept = [*found[: len(found) - more], *([f"… {more:,} lines more"] if more else [])]
    clean = ("".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line) for line in kept)
    return Text("\n".join(clean), style=style)


def _title(text: str) -> RenderableType:
    return Padding(Rule(Text(text, style="bold"), align="left", characters="─", style="dim"), (1, 0, 0, 0))


def _indented(part: RenderableType) -> RenderableType:
    return Padding(part, (0, 0, 0, 2), expand=False)


def _pairs(pairs: Sequence[tuple[str, Any]]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(_text(name), value if isinstance(value, Text) else _text(value))
    return table


def _facts(document: Document) -> RenderableType:
    api = document["api"] if document["api"] == document["client_api"] else f"{document['api']} for {document['client_api']}"
    state = document["state"].replace("_", " ")
    whole = document["state"] == "complete" and (document["status"] or 0) < 400
    pairs = [
        ("agent", document["agent"]),
        ("model", document["model"]),
        ("request", f"{document['method']} {document['host']}{document['path']} ({api})"),
        ("route", document["route"] or ""),
        ("status", _text(f"{document['status']} {state}", "" if whole else "red")),
        ("recorded", (document["recorded_at"] or "").replace("T", " ")),
        ("folder", on_one_line(document["folder"])),
    ]
    name = _text(" ".join(document["name"].split()), "bold")
    lines: list[RenderableType] = [name, _pairs([pair for pair in pairs if str(pair[1])])]
    lines += [_text(f"! {notice}", "yellow") for notice in document["notices"]]
    return Group(*lines)


def _request(document: Document, *, whole: bool) -> Iterator[RenderableType]:
    request = document["request"]
    yield _title("request")
    if request is None:
        yield _text("It was not kept: it was not JSON.", "dim")
        return
    yield _pairs([(name, _text(" ".join(value.split()), lines=0 if whole else 1)) for name, value in request["fields"].items()])
    if request["tools"]:
        names = ", ".join(tool["name"] for tool in request["tools"])
        yield _pairs([("tools", _text(f"{len(request['tools'])}: {names}", lines=0 if whole else 1))])
    yield _title("conversation")
    turns = request["turns"]
    kept = turns if whole else turns[-TURNS:]
    if len(kept) < len(turns):
        yield _text(f"… {len(turns) - len(kept):,} turns before these", "dim")
    for turn in kept:
        yield _text(" ".join(filter(None, (turn["role"], turn["name"]))), "bold cyan")
        for part in turn["parts"]:
            yield _indented(_part(part, whole=whole))


def _part(part: Document, *, whole: bool) -> RenderableType:
    lines = 0 if whole else LINES
    kind = part["kind"]
    if kind in ("text", "file"):
        return _text(part["text"], lines=lines)
    name = " ".join(filter(None, (kind, part.get("name"), part.get("id"), "(error)" if part.get("error") else "")))
    text = _text(part["text"], "dim" * (kind == "thinking"), lines=lines)
    return Group(_text(name, "magenta" if kind == "call" else "dim"), _indented(text))


def _answers(document: Document, *, whole: bool) -> Iterator[RenderableType]:
    raw, mended = document["answer"]["raw"], document["answer"]["mended"]
    yield _title("answer" if raw == mended else "answer, mended")
    yield from _answer(mended, whole=whole)
    if raw != mended:
        yield _title("answer, as the upstream sent it")
        yield from _answer(raw, whole=whole)


def _answer(answer: Document | None, *, whole: bool) -> Iterator[RenderableType]:
    if answer is None:
        yield _text("No event of it is known.", "dim")
        return
    lines = 0 if whole else 3 * LINES
    for kind, style in (("reasoning", "dim italic"), ("text", ""), ("refusal", "red")):
        if answer[kind]:
            yield _text(answer[kind], style, lines=lines)
    for call in answer["tool_calls"]:
        broken = "" if call["complete"] else "  (broken off)"
        yield _text(f"call {call['name']} {call['id']}{broken}", "magenta")
        yield _indented(_text(call["arguments"], lines=lines))
    if answer["error"]:
        yield _text(f"error {answer['error']['type']}: {answer['error']['message']}", "red", lines=lines)
    usage = answer["usage"]
    fields = {"finish": answer["finish_reason"], "end": None if answer["ended"] or answer["finish_reason"] else "broken off"}
    fields |= {name.removesuffix("_tokens"): f"{count:,}" for name, count in (usage or {}).items() if count}
    yield _text("  ".join(f"{name} {value}" for name, value in fields.items() if value), "dim")


def _rules(document: Document) -> Iterator[RenderableType]:
    if not document["rules"]:
        return
    yield _title("rules")
    for rule in document["rules"]:
        events = rule["events"]
        shown = ", ".join(map(str, events[:8])) + (f" and {len(events) - 8:,} more" if len(events) > 8 else "")
        where = f", at event{'s' if len(events) > 1 else ''} {shown}" if events else ""
        yield Text.assemble((_text(rule["name"]).plain, "cyan"), (where, "dim"))
        yield _indented(_text(rule["what"]))


def _suspects(document: Document) -> Iterator[RenderableType]:
    """Yields what looks like a call and was not made one."""
    if not document["suspects"]:
        return
    yield _title("suspected")
    for suspect in document["suspects"]:
        yield _text(suspect.get("text", ""), "yellow")
        yield _indented(_text(f"{suspect.get('why', '')}\nmend it: {suspect['remedy']}"))


def _time(document: Document, width: int) -> Iterator[RenderableType]:
    """Yields the arrival of the bytes as a line of bars, one for each span of equal time."""
    chunks, times = document["chunks"], document["times"]
    yield _title("time")
    if times["last"] and len(chunks) > 1:
        bins = [0] * max(10, min(width, 100))
        for _, size, ms in chunks:
            bins[min(len(bins) - 1, int(ms / times["last"] * len(bins)))] += size
        most = max(bins)
        yield _text("".join(BARS[max(0, -(-size * len(BARS) // most) - 1)] if size else " " for size in bins), "blue")
    durations = [
        ("first byte", times["wait"]),
        ("first token", None if times["first_token"] is None else (times["wait"] or 0) + times["first_token"]),
        ("all", times["last"]),
        ("longest gap", times["longest_gap"]),
    ]
    parts = [f"{name} {_span(ms)}" for name, ms in durations if ms is not None]
    parts += [f"{len(chunks):,} chunks", f"{document['bytes']['raw']:,} bytes, {document['bytes']['mended']:,} to the client"]
    if times["tokens_per_second"]:
        parts.append(f"{times['tokens_per_second']:,} tokens a second")
    yield _text("  ".join(parts), "dim")


def _events(document: Document, *, whole: bool) -> Iterator[RenderableType]:
    """Yields the events side by side; of unchanged ones only a few."""
    events = document["events"]
    shown = [n for n in range(len(events)) if whole or _wanted(events, n)]
    left = len(shown) - EVENTS if not whole else 0
    shown = shown[:EVENTS] if left > 0 else shown
    yield _title("events")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), expand=True)
    table.add_column("", justify="right", style="dim", no_wrap=True)
    table.add_column("time", justify="right", style="dim", no_wrap=True)
    table.add_column("from the upstream", ratio=3, overflow="fold")
    table.add_column("to the client", ratio=3, overflow="fold")
    table.add_column("rule", ratio=1, overflow="fold", style="cyan")
    before = -1
    for n in shown:
        _alike(table, n - before - 1)
        table.add_row(*_row(events[n]))
        before = n
    _alike(table, 0 if left > 0 else len(events) - before - 1)
    yield table
    if left > 0:
        yield _text(f"… {left:,} events more; --all shows them, --html [FILE] makes a page of them", "dim")


def _wanted(events: Sequence[Document], n: int) -> bool:
    """Returns whether an event differs, or is next to one that does."""
    near = events[max(0, n - AROUND) : n + AROUND + 1]
    return any(event["kind"] != "same" or event["rules"] for event in near)


def _alike(table: Table, count: int) -> None:
    if count > 0:
        table.add_row("", "", Text(f"… {count:,} unchanged event{'s' if count > 1 else ''}", style="dim"), "", "")


def _row(event: Document) -> tuple[RenderableType, ...]:
    style = STYLES.get(event["kind"], "")
    match event["kind"]:
        case "same":
            went = _text("=", "dim")
        case "held":
            went = _text(f"held, until event {event['until']}" if event["until"] else "left out", style)
        case "silent":
            went = _text("nothing", "dim")
        case _:
            went = _text(event["gives"] or "other bytes", style)
    rules = ", ".join(event["rules"]) or (event["by"][0] if event["by"] else "")
    came = _text(event["says"] or "the end", "dim" * (event["kind"] == "same"))
    return str(event["n"]), _span(event["ms"]), came, went, _text(rules)


def _span(ms: float) -> str:
    return f"{ms / 1000:.2f} s" if ms >= 1000 else f"{ms:.0f} ms" if ms >= 10 or not ms else f"{ms:.1f} ms"


def _headers(document: Document) -> Iterator[RenderableType]:
    for side, pairs in document["headers"].items():
        yield _title(f"headers of the {side}")
        yield _pairs([(name, value) for name, value in pairs])
