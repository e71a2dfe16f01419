"""`toolmend rewrite`: runs a stream from a file through the same pipeline as the addon."""

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
from .. import CliError, Exit
from ..error_hints import settings_error

_PREFIX = "toolmend_"
_TYPE_NAMES = {list: "list", str: "text", dict: "object"}
_FIELD_TYPES = {"chunks": list, "chunks_b64": list, "from": str, "to": str, "request": dict, "set": dict}
"""The fields of a `--jsonl` line, and their types."""


def cut(body: bytes, how: str) -> Iterator[bytes]:
    """Yields the body in chunks: `whole`, `byte`, a size N in bytes, or `random:SEED`. Raises ValueError for anything else."""
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
    """Yields the client's bytes for a response's chunks. A body that is one JSON object is a whole message."""
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
    """Builds the pipeline for a body from the arguments of the command line.

    Args:
        request: The client's request, if there is one.
        source: The upstream's API; None: as `target`.
        target: The client's API; None: as `source`.
        options: `toolmend_*` options.
        body: The response, from which generated ids are derived.

    Raises:
        SettingsError: An option or API is wrong.
        RequestError: The request cannot be translated.
    """
    source = source or target or "chat"
    target = target or source
    for api in (source, target):
        if api not in APIS:
            raise SettingsError(f"no such API: {api!r}{suggestion(api, APIS) or ','} choose one of: {', '.join(APIS)}")
        if source != target and not APIS[api].writer:
            raise SettingsError(f"{api} is mended, but not translated: --from and --to must be the same")
    settings = _settings(options)
    kind = DryRunPipeline if settings.mode == "observe" and source == target else Pipeline
    return kind(request, source=source, target=target, settings=settings, new_id=ids_for(body))


def _settings(options: Mapping[str, str]) -> Settings:
    values = {name.removeprefix(_PREFIX): value for name, value in options.items()}
    for name in values:
        if name not in OPTIONS:
            known = ", ".join(_PREFIX + option for option in OPTIONS)
            raise SettingsError(f"no such option: {_PREFIX}{name}{suggestion(name, OPTIONS) or ','} choose one of: {known}")
    return load(values)


def _options(pairs: Sequence[str]) -> dict[str, str]:
    options = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise click.UsageError(f"--set needs NAME=VALUE, not {pair!r}")
        options[name] = value
    return options


def _line(line: bytes, given: Mapping[str, Any]) -> bytes:
    """Returns one answer of `--jsonl`. `given`: the defaults for fields that a line does not have."""
    answer: dict[str, Any] = {"id": None, "output": "", "rules": [], "suspects": [], "error": None}
    try:
        fields = json.loads(line)
        answer["id"] = fields["id"] if isinstance(fields, dict) and "id" in fields else None
        task = _checked(fields, given)
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
    except Exception as error:  # a bad line does not end the command
        answer["error"] = f"{type(error).__name__}: {error}"
    try:
        return json.dumps(answer, allow_nan=False).encode()
    except ValueError:  # an id that is too large for a float
        return json_text.dumps(answer).encode()


def _suspects(pipeline: Pipeline, output: bytes) -> list[Suspect]:
    """Returns what in the output looks like a call."""
    if not pipeline.sought.tools.schemas:
        return []
    answer = Answer(MAX_KEPT)
    for event in events_of(pipeline.api, [output], stream=not json_text.is_json(output)):
        answer.feed(event)
    return in_messages(answer.known(), pipeline.sought)


def _checked(fields: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a line's fields with the defaults in `given`. Raises TypeError."""
    if not isinstance(fields, dict):
        raise TypeError("a line must be a JSON object")
    task = {**given, **{name: value for name, value in fields.items() if value is not None}}
    for name, kind in _FIELD_TYPES.items():
        if name in task and not isinstance(task[name], kind):
            raise TypeError(f'"{name}" must be a {_TYPE_NAMES[kind]}')
    if not task.keys() & {"chunks", "chunks_b64"}:
        raise TypeError('a line must have "chunks" or "chunks_b64"')
    options = {**given["set"], **task["set"]}
    return {**task, "set": {name: value if isinstance(value, str) else json.dumps(value) for name, value in options.items()}}


def _bytes(texts: Sequence[str]) -> Iterator[bytes]:
    """Yields the bytes of texts, including those that `output` has for invalid UTF-8. A split surrogate pair is joined."""
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
@click.option("--from", "source", metavar="API", help=f"The upstream's API: {', '.join(APIS)} (default: chat).")
@click.option("--to", "target", metavar="API", help="The client's API (default: the same).")
@click.option("--chunks", default="whole", metavar="whole|byte|N|random:SEED", help="How the input is cut into chunks.")
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
    """Mend a stream from a file, as the addon would in the proxy.

    Without --request, tools are assumed to be offered, and a call may have any name.

    \b
    Examples:
      toolmend rewrite leaked.sse --request request.json
      toolmend rewrite leaked.sse --chunks byte --set toolmend_dialects=kimi_k2
      toolmend rewrite --jsonl < streams.jsonl

    With --jsonl a line in is {"id", "request", "from", "to", "chunks": [text ...] or "chunks_b64": [base64 ...], "set": {...}},
    and a line out {"id", "output": text, "rules": [names of the rules that fired], "suspects": [{"name", "why"}],
    "error": null or text}. A suspect looks like a call of a tool, and was not made one.
    Fields that a line does not have default to --request, --from, --to and --set.
    """
    out = sys.stdout.buffer
    if jsonl:
        if chunks != "whole":
            raise click.UsageError("with --jsonl each line has its own chunks: omit --chunks")
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
        raise settings_error(error) from None
    except RequestError as error:
        same = "give --from and --to the same API"
        raise CliError(f"the request cannot be translated for the upstream: {error}", try_=same, code=Exit.USAGE) from None
    except ValueError:
        raise click.UsageError(f"--chunks needs whole, byte, a number, or random:SEED, not {chunks!r}") from None
    for data in run(pipeline, pieces):
        out.write(data)
    if pipeline.error:
        raise CliError(f"the mending failed, and the rest passed unchanged:\n{pipeline.error}", try_="report it with the stream")


def _read_request(file: BinaryIO | None) -> dict[str, Any] | None:
    if file is None:
        return None
    try:
        request = json.loads(file.read())
    except (ValueError, RecursionError) as error:
        problem = f"{file.name} cannot be read as JSON: {error}"
        raise CliError(problem, try_="give the body of the client's request", code=Exit.USAGE) from None
    if not isinstance(request, dict):
        raise CliError(f"{file.name} is not a JSON object", try_="give the body of the client's request", code=Exit.USAGE)
    return request
