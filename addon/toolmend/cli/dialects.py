"""`toolmend dialects`: lists the known dialects, and prints one as a table to start a new one from."""

import json

import click

from ..config.built_in_tables import NO_TABLE, PLAIN_FORMS, table_of
from ..config.dialect_tables import fields_of, to_toml
from ..config.settings import SettingsError, load, suggestion
from ..dialects import DIALECTS
from . import CliError, Exit, visible
from .error_hints import settings_error
from .tables import print_rows

FORMAT = 1
"""The version of the `--json` output."""


@click.command()
@click.argument("name", default="")
@click.option("--toml", "as_toml", is_flag=True, help="As a [[dialect]] table, to start a new one from.")
@click.option("--config", default="", metavar="FILE.toml", help="Settings of this file instead of the default files.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def dialects(name: str, as_toml: bool, config: str, as_json: bool) -> None:
    """List the dialects in which models write calls into their text, or show one.

    \b
    Examples:
      toolmend dialects
      toolmend dialects hermes --toml >> toolmend.toml
      toolmend dialects acme --toml

    A [[dialect]] table in a settings file is searched for with every model. Some of the built-in dialects cannot be expressed as
    a table; the error names the reason and a similar dialect.
    """
    try:
        own = {row.name: row for row in load({"config": config, "flows": "off"}).own}
    except SettingsError as error:
        raise settings_error(error, config) from None
    if not name:
        if as_toml:
            raise CliError("--toml needs the name of a dialect", try_="toolmend dialects kimi_k2 --toml", code=Exit.USAGE)
        rows = [
            [one.name, "yours" if one.name in own else "ambiguous" if one.ambiguous else "", " ".join(one.openers[:2])]
            for one in (*own.values(), *DIALECTS.values())
        ]
        if as_json:
            found = [{"name": row[0], "own": row[1] == "yours", "ambiguous": row[1] == "ambiguous"} for row in rows]
            click.echo(json.dumps({"format": FORMAT, "dialects": found}, indent=2))
        else:
            print_rows(("dialect", "", "begins with"), [[visible(text) for text in row] for row in rows])
        return
    if name not in own and name not in DIALECTS:
        hint = suggestion(name, [*own, *DIALECTS])
        raise CliError(f"no such dialect: {name!r}{hint}", try_="toolmend dialects", code=Exit.USAGE)
    fields = fields_of(own[name]) if name in own else table_of(DIALECTS[name])
    if fields is None:
        why, like = NO_TABLE[name]
        wrong = f"{name} cannot be expressed as a table: {why}"
        raise CliError(wrong, try_=f"toolmend dialects {like} --toml", code=Exit.FINDINGS)
    if name in PLAIN_FORMS and name not in own and not as_json:
        click.echo(f"# the usual form of {name}; damaged and rare forms need the built-in dialect")
    click.echo(json.dumps({"format": FORMAT, **fields}, indent=2) if as_json else to_toml(fields), nl=as_json)
