"""What is fuzzed: functions that take any bytes, and raise AssertionError where something does not hold that must.

    nothing raises              nothing is lost: what a model said is in the text, the reasoning or a call
    chunking does not matter    what goes out is legal for its API

Rule of this file: a target shares no code with what it judges (the judges of tests/ do not either), and it is a function of its
bytes alone. tests/test_fuzz_targets.py runs each with hypothesis, scripts/fuzz with atheris.
"""

import json
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import runs
from checking import answered, legal, run, same_without_runs, with_data
from dice import Dice, cut_at
from samples import HISTORY, MARKUP, MODELS, PAIRS, SEEDS, TALK, asked, parts
from tests.support import upstream_answers
from tests.support.judges import chat as chat_judge
from tests.support.streams import WEATHER, stream
from toolmend.config.settings import Settings, SettingsError, parse
from toolmend.core import content_encoding, json_text, sse
from toolmend.core.ids import ids_for
from toolmend.dialects import DIALECTS
from toolmend.pipeline.pipeline import Pipeline
from toolmend.recordings.read import library, replay
from toolmend.requests import RequestError
from toolmend.requests.translate import translate


def sse_decoder(data: bytes) -> None:
    """Any bytes in any chunks: the same events, and their bytes are the input. Those that say nothing count as one."""
    dice = Dice(data)
    chunks = dice.cut(dice.rest)
    body = b"".join(chunks)

    def events(parts: list[bytes]) -> list[sse.ServerSentEvent]:
        decoder = sse.SseDecoder()
        told: list[sse.ServerSentEvent] = []
        for event in [event for part in parts for event in decoder.feed(part)] + decoder.close():
            if told and all(each == sse.ServerSentEvent(each.raw) for each in (told[-1], event)):
                told[-1] = sse.ServerSentEvent(told[-1].raw + event.raw)
            else:
                told.append(event)
        return told

    whole = events([body])
    assert b"".join(event.raw for event in whole) == body
    assert events(chunks) == whole
    assert events([body[at : at + 1] for at in range(len(body))]) == whole


def any_bytes(data: bytes) -> None:
    """Any bytes as the stream of any API, to a client of any."""
    dice = Dice(data)
    source, target = dice.one(PAIRS)
    body = dice.rest
    out = run(source, target, dice.cut(body), body)
    if source == target and not out[1]:
        assert out[0] == body
    legal(target, source, out[0])


def bent_streams(data: bytes) -> None:
    """A regular stream in which events are lost, come twice, change places, or hold what they should not."""
    dice = Dice(data)
    source, target = dice.one(PAIRS)
    body = upstream_answers.speak(source, parts(dice), dice.one(list(upstream_answers.STOPS["messages"])), seed=dice.number(8))
    events = [block + b"\n\n" for block in body.split(b"\n\n") if block]
    for _ in dice.more(6):
        at = dice.number(len(events)) if events else 0
        match dice.number(6) if events else 5:
            case 0:
                del events[at]
            case 1:
                events.insert(dice.number(len(events) + 1), events[at])
            case 2:
                events.insert(dice.number(len(events)), events.pop(at))
            case 3:
                del events[at:]
            case 4:
                events.insert(at, dice.one((b": keep-alive\n\n", b"event: ping\ndata: {}\n\n", b"data: : keepalive\n\n", b"data:\n\n")))
            case _:
                events[at : at + 1] = [_bent(dice, event) for event in events[at : at + 1]]
    body = b"".join(events)
    out, _ = run(source, target, dice.cut(body), body)
    legal(target, source, out)


def open_runs(data: bytes) -> None:
    """Long runs, with odd things in them: the fast path changes nothing, nor does how the stream is cut."""
    dice = Dice(data)
    source, target = dice.one(PAIRS)
    model, events = runs.events(source, dice)
    body = b"".join(events)
    request = asked(target, model)
    size = 2 + dice.number(299)
    bundles = [b"".join(events[at : at + size]) for at in range(0, len(events), size)]
    torn = cut_at(body, dice.one((90, 700, 5000, 65536))) if dice.number(2) else dice.cut(body)
    out, rules = same_without_runs(source, target, (events, bundles, torn), request)
    heard = [answered(source, chunks) for chunks in (events, bundles, torn)]
    assert heard[0] == heard[1] == heard[2]
    if source == target and not rules:
        assert len(out) == len(body)
        assert with_data(out) == with_data(body)  # what has none may overtake what is held
    legal(target, source, out)


def model_text(data: bytes) -> None:
    """A model that says anything in any dialect: no word of it is lost, and what comes out is legal."""
    dice = Dice(data)
    words: list[str] = []
    text: list[str] = []
    for turn in dice.more(40):
        if dice.number(3):
            text.append(dice.one(MARKUP))
        else:
            words.append(f"w{turn}x")
            text.append(words[-1])
    said = "".join(text)
    sizes = [dice.number(12) + 1 for _ in range(4)]
    deltas, at = [], 0
    while at < len(said):
        size = sizes[len(deltas) % 4]
        deltas.append(said[at : at + size])
        at += size
    source = stream(deltas, field=dice.one(("content", "reasoning_content")))
    settings = Settings(dialects=tuple(DIALECTS) if dice.number(2) else None)
    request = {**WEATHER, "model": dice.one(MODELS)}
    out, _ = run("chat", "chat", dice.cut(source), source, request, settings)
    answer = chat_judge.read(out)
    assert not answer.all_faults, (answer.all_faults, said)
    kept = "".join(part.content + part.reasoning + "".join(f"{call.id} {call.name} {call.arguments}" for call in part.calls) for part in answer.choices.values())
    cut = re.findall(r"\|>(w\d+x)(?=<\|)", said)  # may be residue behind a name: R2 of the dialects
    cut += re.findall(r"w\d+x", " ".join(re.findall(r"to=functions\.([\w.:/-]*)", said)))  # in the name of a recipient
    for word in set(words) - set(cut):
        assert word in kept, f"{word} of {said!r} is in none of {kept!r}"


def legal_answers(data: bytes) -> None:
    """A regular answer, to a client of any API: all of it is heard."""
    dice = Dice(data)
    source, target = dice.one(PAIRS)
    said = parts(dice)
    stop = "tool_calls" if any(isinstance(part, upstream_answers.Asked) for part in said) else "stop"
    body = upstream_answers.speak(source, said, stop, seed=dice.number(8))
    out, rules = run(source, target, dice.cut(body), body)
    assert out == body if source == target else not rules - {"finish_reason"}, rules
    upstream_answers.check(target, upstream_answers.JUDGES[target].read(out), upstream_answers.heard(said, stop))


def whole_messages(data: bytes) -> None:
    """A whole answer with something odd in it."""
    dice = Dice(data)
    source, target = dice.one(PAIRS)
    value = json.loads(upstream_answers.tell(source, parts(dice)))
    for _ in dice.more(4):
        value = dice.bent(value)
    body = json.dumps(value).encode() if dice.number(8) else dice.rest
    pipeline = Pipeline(asked(target), source=source, target=target, new_id=ids_for(body))
    out = pipeline.message(body)
    assert not pipeline.error or (source != target and pipeline.error.startswith("NotJSON")), pipeline.error
    if source == target and not pipeline.rules:
        assert out == body
    if source != target:
        assert isinstance(json.loads(out), dict)


def requests(data: bytes) -> None:
    """A request with something odd in it is translated, or refused."""
    dice = Dice(data)
    source, target = dice.one(PAIRS)
    request = asked(source)
    request |= {"temperature": 0.5, "tool_choice": dice.one(("auto", {"type": "function", "function": {"name": "task"}}, {"type": "any"}, None))}
    history = HISTORY[source]
    request[TALK[source]] = [*request[TALK[source]], *history] if isinstance(request[TALK[source]], list) else history
    for _ in dice.more(6):
        request = dice.bent(request)
    try:
        translated = translate(request, source, target)
    except RequestError:
        return
    json.dumps(translated.request)


def settings_file(data: bytes) -> None:
    """Any text as a configuration: it is taken, or refused in a sentence."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "toolmend.toml"
        file.write_bytes(data)
        try:
            parse({"config": str(file), "flows": "off"})
        except SettingsError:
            return


def recording(data: bytes) -> None:
    """A recording whose files were torn or garbled is listed, and loads or says why not."""
    dice = Dice(data)
    origin = SEEDS[dice.number(len(SEEDS))]
    with tempfile.TemporaryDirectory() as folder:
        for file in sorted(origin.iterdir()):
            held = file.read_bytes()
            match dice.number(5):
                case 0:
                    held = held[: dice.number(65536) % (len(held) + 1)]
                case 1:
                    held = held[: dice.number(65536) % (len(held) + 1)].ljust(len(held), b"\0")
                case 2 if file.suffix == ".json":
                    held = json.dumps(dice.bent(json.loads(held))).encode()
                case 3 if dice.number(4) == 0:
                    continue
            (Path(folder) / file.name).write_bytes(held)
        for entry in library.entries(Path(folder)):
            assert entry.state in library.STATES
        try:
            loaded = replay.load(Path(folder))
        except replay.RecordingError:
            return
        assert isinstance(loaded.meta, dict)


def content_codings(data: bytes) -> None:
    """Any bytes as any coding, in any chunks: undone, or refused, and never more than a burst."""
    dice = Dice(data)
    undo = content_encoding.decoder(dice.one(("gzip", "deflate", "br", "zstd", "gzip, br", "identity", "x-gzip, zstd")))
    assert undo
    for chunk in dice.cut(dice.rest):
        try:
            made = undo.feed(chunk)
        except content_encoding.CodingError:
            return
        assert len(made) <= content_encoding.BURST + content_encoding.PIECE


def json_reader(data: bytes) -> None:
    """Read as the standard library reads, or refused; written so that it is read back."""
    try:
        value = json_text.loads(data)
    except json_text.NotJSON:
        return
    assert json.dumps(json.loads(data.decode("utf-8", "surrogatepass"))) == json.dumps(value)


def _bent(dice: Dice, event: bytes) -> bytes:
    head, found, data = event.partition(b"data: ")
    if not found or not data.startswith(b"{"):
        return event
    return head + found + json.dumps(dice.bent(json.loads(data))).encode() + b"\n\n"


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        sse_decoder, any_bytes, bent_streams, open_runs, model_text, legal_answers, whole_messages, requests, settings_file, recording, content_codings,
        json_reader,
    )
}  # fmt: skip
