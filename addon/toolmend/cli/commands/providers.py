"""`toolmend providers`: shows a model's profile, why it applies, and which dialects are searched for with it."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from ...config.settings import Settings, SettingsError, load
from ...dialects import DIALECTS, STRICT
from ...dialects.engine.strict_dialect import StrictDialect
from ...dialects.families.role_tokens import role_tokens
from ...dialects.own import own_of
from ...pipeline.dialect_choice import armed
from ...providers.hosts import paths
from ...providers.model_facts import about
from ...providers.model_profiles import FoundProfile, Profile, find, table, taken
from ...providers.routes import APIS
from ...proxy.learnt_refusals import RefusalScope, remembered
from ...requests.request_limits import SETTABLE, Quirks, known
from .. import visible
from ..error_hints import settings_error
from ..tables import print_rows

FORMAT = 1
"""The version of the `--json` output."""


@click.command()
@click.argument("model", default="")
@click.option("--host", default="", metavar="HOST", help="The model's host: openrouter.ai, localhost:11434.")
@click.option("--api", default="", metavar="API", help=f"The host's API: {', '.join(APIS)} (default: its first).")
@click.option("--config", default="", metavar="FILE.toml", help="Settings of this file instead of the default files.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def providers(model: str, host: str, api: str, config: str, as_json: bool) -> None:
    """Show a model's provider profile, which dialects are searched for, and what requests to it may contain.

    Without a model and a host, lists all profiles. Each fact about requests has its source: a built-in line, the data set, a line
    maintained by hand, an earlier refusal, or a [[provider]] table of yours, where `takes = { … }` overrides it.

    \b
    Examples:
      toolmend providers qwen/qwen3-coder-480b
      toolmend providers gpt-5.5 --host api.openai.com --api responses
      toolmend providers my-model --host llm.example.com --config toolmend.toml
    """
    try:
        settings = load({"config": config, "flows": "off"})
    except SettingsError as error:
        raise settings_error(error, config) from None
    if api not in ("", *APIS):
        raise click.UsageError(f"no such API: {api!r}; choose one of: {', '.join(APIS)}")
    if model or host:
        found = find(model, host, settings.providers)
        facts = _facts(api or _first_api(host), model, host, settings)
        if as_json:
            summary = {name: {"value": given, "from": source} for name, (given, source) in facts.items()}
            click.echo(json.dumps({**_answer(found, model, host, settings), "facts": summary}, indent=2))
        else:
            for key, line in _lines(found, settings):
                click.echo(f"{key:<10} {visible(line)}")
            if facts:
                click.echo(f"requests   the table of models is {about()['source']}, of {about()['date']}")
            for name, (given, source) in facts.items():
                click.echo(f"  {name} = {visible(_text(given))}    ({visible(source)})")
        return
    rows = [row for part in table(settings.providers) for row in part]
    if as_json:
        click.echo(json.dumps({"format": FORMAT, "profiles": [asdict(row) for row in rows]}, indent=2))
    else:
        _print(rows)


def _first_api(host: str) -> str:
    """Returns the first API that a host speaks."""
    return next((api for api, _ in paths(host) if api in APIS), "chat")


def _facts(api: str, model: str, host: str, settings: Settings) -> dict[str, tuple[Any, str]]:
    """Returns the facts about requests to a model at a host, with their sources, except those with the default value."""
    found = {name: (given, layer.source) for layer in known(api, host, model) for name, given in layer.facts.items()}
    key = RefusalScope(host, api, model.lower())
    for entry in remembered().entries(key):
        words = f"learnt on {entry.date}: {entry.message}"
        found |= {name: (given, words) for name, given in entry.facts.items()}
        found |= {"refuses": ((*found.get("refuses", ((), ""))[0], *entry.edits), words)} if entry.edits else {}
    found |= {name: (given, f"your table {row}") for name, (given, row) in taken(model, host, settings.providers).items()}
    usual = Quirks()
    return {name: found[name] for name in SETTABLE if name in found and found[name][0] != getattr(usual, name)}


def _text(given: Any) -> str:
    return " ".join(given) or "none" if isinstance(given, tuple) else json.dumps(given)


def built_in(names: tuple[str, ...] | None) -> list[str] | None:
    """Returns the names of built-in dialects."""
    return None if names is None else [name for name in names if name in DIALECTS]


def _answer(found: FoundProfile, model: str, host: str, settings: Settings) -> dict[str, Any]:
    profile = found.profile
    dialects = armed(built_in(settings.dialects), profile, known=not settings.strangers)
    return {
        "format": FORMAT,
        "model": model,
        "host": host,
        "profile": profile.name,
        "matched": {found.part: found.glob} if found.part else {},
        "dialects": [dialect.name for dialect in dialects if not isinstance(dialect, StrictDialect)],
        "if_certain": [dialect.name for dialect in dialects if isinstance(dialect, StrictDialect)],
        "own": [dialect.name for dialect in own_of(settings.own, settings.dialects)],
        "first_party": profile.first_party,
        "reasoning_field": profile.reasoning_field,
        "think_tags": profile.think_tags,
        "think_unopened": profile.think_unopened,
        "role_tokens": [*tokens.openers] if (tokens := role_tokens(profile.name)) else [],
        "tools": profile.tools,
        "system_role": profile.system_role,
    }


def _lines(found: FoundProfile, settings: Settings) -> list[tuple[str, str]]:
    profile = found.profile
    dialects = armed(built_in(settings.dialects), profile, known=not settings.strangers)
    strangers = [dialect.name for dialect in dialects if isinstance(dialect, StrictDialect)]
    explicit = [dialect for dialect in dialects if dialect.name in profile.dialects or dialect in STRICT]
    own = ", ".join(dialect.name for dialect in explicit)
    own_names = [dialect.name for dialect in own_of(settings.own, settings.dialects)]
    others = len(dialects) - len(explicit) - len(strangers)
    if settings.dialects is not None:
        looked = ", ".join(settings.dialects) or "none"
        looked += ": by the settings"
    else:
        looked = f"{own}, and {others}" if own else f"the {others}"
        looked += " that are unambiguous, as for every model"
    tags = "is reasoning" if profile.think_tags else "is left in the text"
    if profile.think_unopened:
        tags += f", and the text {'begins' if profile.think_always else 'may begin'} inside it"
    why = f"the {found.part} matches {found.glob}" if found.part else "neither model nor host is known"
    return [
        ("profile", f"{profile.name}: {why}"),
        ("dialects", looked),
        *([("your own", ", ".join(own_names))] if own_names else []),
        *([("if certain", f"{', '.join(strangers)}: the maker does not serve it")] if strangers else []),
        ("reasoning", f"in {profile.reasoning_field}"),
        ("<think>", tags),
        ("tools", "in the prompt, calls as JSON in the text" if profile.tools == "prompt" else "the model's own"),
        *([("tokens", f"{', '.join(tokens.openers)} are left out")] if (tokens := role_tokens(profile.name)) else []),
    ]


def _print(rows: Sequence[Profile]) -> None:
    """Prints all profiles."""
    head = ("profile", "models", "hosts", "dialects", "reasoning", "<think>")
    lines = [
        (
            row.name,
            " ".join(row.models),
            " ".join(row.hosts),
            " ".join(row.dialects),
            row.reasoning_field or "by host",
            "reasoning" if row.think_tags else "text",
        )
        for row in rows
    ]
    print_rows(head, lines)
