"""`toolmend routes`: shows which requests go to another upstream, and how. Of a key only its source is shown."""

import json
from datetime import date
from typing import Any

import click

from ...config.route_tables import read_url
from ...config.settings import SettingsError, load
from ...providers.model_facts import endings
from ...providers.routes import Api, Route, match
from ...proxy.learnt_refusals import remembered
from .. import CliError, Exit, visible
from ..error_hints import settings_error
from ..tables import print_rows

HEAD = ("from", "model", "to", "APIs", "asks for", "key", "tools")


FORMAT = 1
"""The version of the `--json` output."""


@click.command()
@click.argument("file", default="", metavar="[FILE.toml]")
@click.argument("url", default="", metavar="[URL]")
@click.option("--model", default="", metavar="MODEL", help="The model in the client's request.")
@click.option("--check", is_flag=True, help="Only check the file.")
@click.option("--learnt", is_flag=True, help="Show what upstreams have refused, and what is changed because of it.")
@click.option("--forget", is_flag=True, help="Remove all of that.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def routes(file: str, url: str, model: str, check: bool, learnt: bool, forget: bool, as_json: bool) -> None:
    """Show the routes of a settings file, or of the default files; with a URL, the one that takes a request to it.

    \b
    Examples:
      toolmend routes --check toolmend.toml
      toolmend routes toolmend.toml https://api.anthropic.com/v1/messages --model claude-sonnet-4-5
      toolmend routes https://api.anthropic.com/v1/messages         by the settings that apply here
      toolmend routes --learnt                                      with the [[provider]] tables that make it permanent

    Exit code 1: no route takes the request; 4: the file is wrong.
    """
    if learnt or forget:
        _learnt(as_json, forget)
        return
    if "://" in file and not url:
        file, url = "", file
    try:
        rows = load({"config": file}).routes
    except SettingsError as error:
        raise settings_error(error, file) from None
    if check:
        ends = list(endings(rows, date.today()))  # noqa: DTZ011  the local day
        summary = "\n".join([f"{file or 'all'} is valid: {_count(len(rows))}", *map(visible, ends)])
        click.echo(json.dumps({"format": FORMAT, "routes": len(rows), "ending": ends}) if as_json else summary)
        return
    if url:
        _print_route(_matching_route(rows, url, model), url, model, as_json)
        return
    if as_json:
        click.echo(json.dumps({"format": FORMAT, "routes": [_fields(route, route.client) for route in rows]}, indent=2))
    else:
        print_rows(HEAD, [_row(route, route.client) for route in rows])


def _learnt(as_json: bool, forget: bool) -> None:
    """Prints what was learnt from refusals, or removes it."""
    known = remembered()
    if forget:
        count = known.forget()
        click.echo(json.dumps({"format": FORMAT, "forgotten": count}) if as_json else f"forgotten: {count} learnt")
        return
    entries = known.entries()
    if as_json:
        rows = [
            {"host": entry.scope.host, "api": entry.scope.api, "model": entry.scope.model, "path": entry.path, "date": entry.date}
            | {"edits": list(entry.edits), "facts": dict(entry.facts), "said": entry.message, "provider": entry.provider_table}
            for entry in entries
        ]
        click.echo(json.dumps({"format": FORMAT, "learnt": rows}, indent=2))
        return
    for entry in entries:
        api, model = entry.scope.api, entry.scope.model
        click.echo(visible(f"# {entry.date}: {entry.scope.host} refuses {entry.path} ({api}, {model}): {entry.message}"))
        click.echo("\n".join(map(visible, entry.provider_table.splitlines())) + "\n")
    if not entries:
        click.echo("nothing was learnt from refusals in the last 14 days")


def _count(number: int) -> str:
    return f"{number or 'no'} route{'' if number == 1 else 's'}"


def _matching_route(rows: tuple[Route, ...], url: str, model: str) -> tuple[Route, Api] | None:
    read = read_url(url)
    if not read:
        hint = "give all of it, as in https://api.anthropic.com/v1/messages"
        raise CliError(f"{url!r} is not a URL", try_=hint, code=Exit.USAGE)
    origin, parts = read
    return match(rows, origin.scheme, origin.host, origin.port, parts.path, model)


def _print_route(found: tuple[Route, Api] | None, url: str, model: str, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"format": FORMAT, "route": _fields(*found) if found else None}, indent=2))
    elif found:
        route, client = found
        click.echo(f"the route at {visible(route.where)} takes it:")
        for name, value in zip(HEAD, _row(route, client), strict=True):
            click.echo(f"{name:<9} {visible(value)}")
    else:
        request_text = visible(f"{url} with {f'the model {model}' if model else 'no model'}")
        click.echo(f"no route takes {request_text}: it is not rerouted")
    if not found:
        raise click.exceptions.Exit(Exit.FINDINGS)


def _fields(route: Route, client: str) -> dict[str, Any]:
    return {
        "where": route.where,
        "from": route.source,
        "model": route.model,
        "to": route.target,
        "client": client or None,
        "upstream": route.upstream,
        "use_model": route.use_model or None,
        "key": route.key_from or None,
        "tools": "prompt" if route.template else "native",
    }


def _row(route: Route, client: str) -> list[str]:
    fields = _fields(route, client)
    return [
        fields["from"],
        fields["model"],
        fields["to"],
        f"{client or 'as asked'} to {route.upstream}",
        fields["use_model"] or "the same",
        fields["key"] or "none",
        fields["tools"],
    ]
