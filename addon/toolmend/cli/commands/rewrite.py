"""`toolmend rewrite`: a kept stream through the same pipeline that the addon uses.

Rule of this file: it opens files and cuts chunks; what happens to the bytes is the pipeline's business alone.
"""

import base64
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import click

from ...apis import APIS
from ...config.settings import OPTIONS, Settings, SettingsError, load, suggestion
from ...core import json_text
from ...core.fold import Answer
from ...core.ids import ids_for
from ...core.sse import BOM
from ...pipeline.dry_run import DryRunPipeline
from ...pipeline.event_reader import events_of
from ...pipeline.pipeline import Pipeline
from ...pipeline.suspects import Suspect, in_messages
from ...recordings.read.message_json import MAX_KEPT
from ...requests import RequestError
from .. import Exit, Problem
from ..error_hints import misset

_PREFIX = "toolmend_"
_WORDS = {list: "list", str: "text", dict: "object"}
_KINDS = {"chunks": list, "chunks_b64": list, "from": str, "to": str, "request": dict, "set": dict}
"""What a line of `--jsonl` says, and of which type that is."""


def cut(body: bytes, how: str) -> Iterator[bytes]:
    """The body in chunks: `whole`, `byte`, a size N in bytes, or `random:SEED`. Raises ValueError for anything else."""
    kind, _, seed = how.partition(":")
    if kind == "random":
        dice = random.Random(int(seed or 0))
        sizes = iter(lambda: dice.choice((1, 2, 3, 5, 8, 40, 300)), 0)
    else:
        size = {"whole": len(body) or 1, "byte": 1}.get(how) or int(how)
        if size < 1:
            raise ValueError(how)
        sizes = iter(lambda: size, 0)
    at = 0
    while at < len(body):
        end = at + next(sizes)
        yield body[at:end]
        at = end


def run(pipeline: Pipeline, chunks: Sequence[bytes]) -> Iterator[bytes]:
    """The client's bytes for a response's chunks. A body that is one JSON object is a whole message."""
    body = b"".join(chunks)
    if body.removeprefix(BOM).lstrip()[:1] == b"{" and json_text.is_json(body):
        yield pipeline.message(body)
        return
    for chunk in chunks:
        yield pipeline.feed(chunk)
    yield pipeline.close()


def make(
    request: Mapping[str, Any] | None, source: str | None, target: str | None, options: Mapping[str, str], body: bytes
) -> Pipeline:
    """A pipeline by the words of the command line, for a body. Raises SettingsError, RequestError."""
    source = source or target or "chat"
    target = target or source
    for api in (source, target):
        if api not in APIS:
            raise SettingsError(f"there is no API {api!r}{suggestion(api, APIS) or ','} write one of: {', '.join(APIS)}")
        if source != target and not APIS[api].writer:
            raise SettingsError(f"{api} is mended in itself, and not translated: --from and --to are to be the same")
    settings = _settings(options)
    kind = DryRunPipeline if settings.mode == "observe" and source == target else Pipeline
    return kind(request, source=source, target=target, settings=settings, new_id=ids_for(body))


def _settings(options: Mapping[str, str]) -> Settings:
    values = {name.removeprefix(_PREFIX): value for name, value in options.items()}
    for name in values:
        if name not in OPTIONS:
            known = ", ".join(_PREFIX + option for option in OPTIONS)
            raise SettingsError(f"there is no option {_PREFIX}{name}{suggestion(name, OPTIONS) or ','} write one of: {known}")
    return load(values)


def _options(pairs: Sequence[str]) -> dict[str, str]:
    options = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise click.UsageError(f"--set takes NAME=VALUE, not {pair!r}")
        options[name] = value
    return options


def _line(line: bytes, given: Mapping[str, Any]) -> bytes:
    """One answer of `--jsonl`. `given`: what is meant where a line does not say."""
    answer: dict[str, Any] = {"id": None, "output": "", "rules": [], "suspects": [], "error": None}
    try:
        told = json.loads(line)
        answer["id"] = told["id"] if isinstance(told, dict) and "id" in told else None
        task = _checked(told, given)
        if "chunks_b64" in task:
            chunks = [base64.b64decode(chunk, validate=True) for chunk in task["chunks_b64"]]
        else:
            chunks = [*_bytes(task["chunks"])]
        pipeline = make(task.get("request"), task.get("from"), task.get("to"), task["set"], b"".join(chunks))
        output = b"".join(run(pipeline, chunks))
        answer["output"] = output.decode(errors="surrogateescape")
        answer["rules"] = pipeline.rules
        answer["suspects"] = [{"name": one.name, "why": one.why} for one in _suspects(pipeline, output)]
        answer["error"] = pipeline.error
    except Exception as error:  # whatever a line holds, the next one is answered too
        answer["error"] = f"{type(error).__name__}: {error}"
    try:
        return json.dumps(answer, allow_nan=False).encode()
    except ValueError:  # an id that no float can hold
        return json_text.dumps(answer).encode()


def _suspects(pipeline: Pipeline, output: bytes) -> list[Suspect]:
    """What the client got that looks like a call."""
    if not pipeline.sought.tools.schemas:
        return []
    answer = Answer(MAX_KEPT)
    for event in events_of(pipeline.api, [output], stream=not json_text.is_json(output)):
        answer.feed(event)
    return in_messages(answer.known(), pipeline.sought)


def _checked(told: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a line says, and what is `given` beside it. Raises TypeError."""
    if not isinstance(told, dict):
        raise TypeError("a line is a JSON object")
    task = {**given, **{name: value for name, value in told.items() if value is not None}}
    for name, kind in _KINDS.items():
        if name in task and not isinstance(task[name], kind):
            raise TypeError(f'"{name}" is no {_WORDS[kind]}')
    if not task.keys() & {"chunks", "chunks_b64"}:
        raise TypeError('a line has "chunks" or "chunks_b64"')
    options = {**given["set"], **task["set"]}
    return {**task, "set": {name: value if isinstance(value, str) else json.dumps(value) for name, value in options.items()}}


def _bytes(texts: Sequence[str]) -> Iterator[bytes]:
    """The bytes of texts, also of such as `output` gave for bytes that are no UTF-8. A pair that was cut in two is one."""
    half = ""
    for text in texts:
        whole = half + text
        half = whole[-1:] if "\ud800" <= whole[-1:] <= "\udbff" else ""
        yield _encoded(whole.removesuffix(half))
    if half:
        yield _encoded(half)


def _encoded(text: str) -> bytes:
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    try:
        return joined.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return joined.encode(errors="surrogatepass")


@click.command()
@click.argument("file", type=click.File("rb"), default="-", metavar="[FILE.sse|-]")
@click.option("--request", type=click.File("rb"), metavar="FILE.json", help="The client's request: the tools it offers.")
@click.option("--from", "source", metavar="API", help=f"What the upstream speaks: {', '.join(APIS)} (default: chat).")
@click.option("--to", "target", metavar="API", help="What the client speaks (default: the same).")
@click.option("--chunks", default="whole", metavar="whole|byte|N|random:SEED", help="How the stream is cut on its way in.")
@click.option("--set", "pairs", multiple=True, metavar="NAME=VALUE", help="An option of the addon; may be repeated.")
@click.option("--jsonl", is_flag=True, help="Many streams: a JSON object per line in, one per line out.")
def rewrite(
    file: BinaryIO,
    request: BinaryIO | None,
    source: str | None,
    target: str | None,
    chunks: str,
    pairs: tuple[str, ...],
    jsonl: bool,
) -> None:
    """Mend a stream that was kept in a file, as the addon would on the wire.

    Without --request it is taken that tools were offered, and that a call may name any.

    \b
    Examples:
      toolmend rewrite leaked.sse --request request.json
      toolmend rewrite leaked.sse --chunks byte --set toolmend_dialects=kimi_k2
      toolmend rewrite --jsonl < streams.jsonl

    With --jsonl a line in is {"id", "request", "from", "to", "chunks": [text ...] or "chunks_b64": [base64 ...], "set": {...}},
    and a line out {"id", "output": text, "rules": [names of the rules that fired], "suspects": [{"name", "why"}],
    "error": null or text}. A suspect looks like a call of a tool, and was not made one.
    What a line does not say is as --request, --from, --to and --set have it.
    """
    out = sys.stdout.buffer
    if jsonl:
        if chunks != "whole":
            raise click.UsageError("with --jsonl each line has its own chunks: leave --chunks out")
        given: dict[str, Any] = {"from": source, "to": target, "request": _read_request(request), "set": _options(pairs)}
        given = {name: value for name, value in given.items() if value is not None}
        for line in file:
            if line.strip():
                out.write(_line(line, given) + b"\n")
                out.flush()
        return
    try:
        body = file.read()
        pieces = list(cut(body, chunks))
        pipeline = make(_read_request(request), source, target, _options(pairs), body)
    except SettingsError as error:
        raise misset(error) from None
    except RequestError as error:
        same = "give --from and --to the same API"
        raise Problem(f"the upstream cannot be asked this: {error}", try_=same, code=Exit.USAGE) from None
    except ValueError:
        raise click.UsageError(f"--chunks takes whole, byte, a number, or random:SEED, not {chunks!r}") from None
    for data in run(pipeline, pieces):
        out.write(data)
    if pipeline.error:
        raise Problem(f"it failed, and passed the rest as it came:\n{pipeline.error}", try_="report it with the stream")


def _read_request(file: BinaryIO | None) -> dict[str, Any] | None:
    if file is None:
        return None
    try:
        request = json.loads(file.read())
    except (ValueError, RecursionError) as error:
        wrong = f"{file.name} is no JSON that can be read: {error}"
        raise Problem(wrong, try_="give the body of the client's request", code=Exit.USAGE) from None
    if not isinstance(request, dict):
        raise Problem(f"{file.name} is no JSON object", try_="give the body of the client's request", code=Exit.USAGE)
    return request
