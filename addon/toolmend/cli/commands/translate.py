"""`toolmend translate`: the request that a route would send upstream for a client's request, and what was changed.

This module reads files and lines and prints; the translation is requests/outgoing.py's, which the addon calls too.
"""

import json
import sys
from collections.abc import Mapping
from typing import Any, BinaryIO

import click

from ...config.settings import Settings, SettingsError, load, suggestion
from ...core import json_text
from ...providers.routes import APIS
from ...proxy.learnt_refusals import RefusalScope, remembered
from ...requests import RequestError, Translated
from ...requests.outgoing import outgoing
from .. import CliError, Exit, visible
from ..error_hints import settings_error

_FIELDS = ("from", "to", "host", "model")
"""What a line of `--jsonl` may contain apart from its id and request; each is a text."""


@click.command()
@click.argument("file", type=click.File("rb"), default="-", metavar="[FILE.json|-]")
@click.option("--from", "client", metavar="API", help=f"The client's API: {', '.join(APIS)} (default: chat).")
@click.option("--to", "upstream", metavar="API", help="The upstream's API (default: the client's).")
@click.option("--host", metavar="HOST", help="The upstream's host: api.anthropic.com, localhost:8000.")
@click.option("--model", metavar="MODEL", help="The model to ask for (default: the one in the request).")
@click.option("--config", default="", metavar="FILE.toml", help="Settings of this file, instead of those that are found.")
@click.option("--jsonl", is_flag=True, help="Many requests: a JSON object per line in, one per line out.")
def translate(
    file: BinaryIO, client: str | None, upstream: str | None, host: str | None, model: str | None, config: str, jsonl: bool
) -> None:
    """Show what the addon would send upstream for a client's request, and what was changed and why.

    The upstream's request goes to standard output, the changes go to standard error.

    \b
    Examples:
      toolmend translate request.json --from messages --to chat --host api.openai.com --model gpt-5.5
      toolmend translate --jsonl < requests.jsonl

    With --jsonl a line in is {"id", "request", "from", "to", "host", "model"},
    and a line out {"id", "request", "notes": [text ...], "error": null or text}.
    Where a line has no "from", "to", "host" or "model", the options of the same names apply.
    """
    try:
        settings = load({"config": config, "flows": "off"})
    except SettingsError as error:
        raise settings_error(error, config) from None
    named = dict(zip(_FIELDS, (client, upstream, host, model), strict=True))
    given = {name: text for name, text in named.items() if text}
    if jsonl:
        out = sys.stdout.buffer
        for line in file:
            if line.strip():
                out.write(_line(line, given, settings) + b"\n")
                out.flush()
        return
    try:
        translated = _translated({**given, "request": _read(file)}, settings)
    except SettingsError as error:
        raise CliError(str(error), try_="toolmend translate --help", code=Exit.USAGE) from None
    except RequestError as error:
        wrong = f"the upstream cannot be asked this: {error}"
        raise CliError(wrong, try_="change the request as the error describes", code=Exit.USAGE) from None
    click.echo(json.dumps(translated.request, indent=2))
    _explain(translated)


def _explain(translated: Translated) -> None:
    """Prints what was changed, a line each."""
    renamed = [f"The tool {old} is called {new}: this upstream refuses its name" for new, old in translated.names.items()]
    wrapped = [f"The freeform tool {name} is a function: this upstream has no such tools" for name in sorted(translated.custom)]
    lines = [*translated.notes, *renamed, *wrapped]
    click.echo("changed:" if lines else "changed: nothing that the client could miss", err=True)
    for line in lines:
        click.echo(f"  {visible(line)}", err=True)


def _read(file: BinaryIO) -> dict[str, Any]:
    right = "give the body of the client's request"
    try:
        request = json_text.loads(file.read())
    except (ValueError, RecursionError) as error:
        raise CliError(f"{file.name} cannot be read as JSON: {error}", try_=right, code=Exit.USAGE) from None
    if not isinstance(request, dict):
        raise CliError(f"{file.name} holds JSON that is not an object", try_=right, code=Exit.USAGE)
    return request


def _line(line: bytes, given: Mapping[str, str], settings: Settings) -> bytes:
    """Returns one answer of `--jsonl`."""
    answer: dict[str, Any] = {"id": None, "request": None, "notes": [], "error": None}
    try:
        task = _object(json.loads(line))
        answer["id"] = task.get("id")
        translated = _translated({**given, **{name: value for name, value in task.items() if value is not None}}, settings)
        answer["request"] = translated.request
        answer["notes"] = list(translated.notes)
    except RequestError as error:
        answer["error"] = str(error)
    except Exception as error:  # a bad line does not end the command
        answer["error"] = f"{type(error).__name__}: {error}"
    try:
        return json.dumps(answer, allow_nan=False).encode()
    except ValueError:  # a number that is too large for a float
        return json_text.dumps(answer).encode()


def _object(task: Any) -> dict[str, Any]:
    if not isinstance(task, dict):
        raise TypeError("a line must be a JSON object")
    return task


def _translated(task: Mapping[str, Any], settings: Settings) -> Translated:
    """Raises RequestError, SettingsError, TypeError."""
    if not isinstance(task.get("request"), dict):
        raise TypeError('"request" must be a JSON object')
    for name in _FIELDS:
        if not isinstance(task.get(name, ""), str):
            raise TypeError(f'"{name}" must be a text')
    client = task.get("from") or "chat"
    upstream = task.get("to") or client
    for api in (client, upstream):
        if api not in APIS:
            raise SettingsError(f"no such API: {api!r}{suggestion(api, APIS) or ','} choose one of: {', '.join(APIS)}")
    model, host = task.get("model", ""), task.get("host", "")
    asked = model or task["request"].get("model")
    known = remembered().known_for(RefusalScope(host, upstream, asked.lower() if isinstance(asked, str) else ""))
    learnt = (known.facts, known.edits)
    return outgoing(task["request"], client, upstream, model=model, host=host, providers=settings.providers, learnt=learnt)
