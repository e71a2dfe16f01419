"""`toolmend config`: shows the settings and their sources, and checks a file. The keys of routes are not shown."""

import json
from collections.abc import Mapping

import click

from ...config.checks import SettingsError
from ...config.config_file import GivenSetting
from ...config.config_places import named, user_file
from ...config.data_folder import data_folder
from ...config.option_names import LIMITS
from ...config.precedence import Layers, everywhere
from ...config.settings import checked
from ...dialects.own import OwnDialect
from ...providers.model_profiles import Profile
from .. import CliError, Exit, visible
from ..tables import print_rows

VERSION = 1
"""The version of the `--json` output."""

DEFAULTS = {
    **dict.fromkeys(("hosts", "off"), "none"),
    **{name: str(limit) for name, limit in LIMITS.items()},
    **dict.fromkeys(("replay", "metrics"), "off"),
    "dialects": "auto",
    "mode": "mend",
    "keep": "500MB 14d",
    "replay_miss": "fail",
    "policy": "mixed",
    "intercept": "llm",
}
"""The defaults in the form of option values. That of `flows` is the user's data folder."""


@click.group()
def config() -> None:
    """Show the settings and where each one comes from, or check a settings file.

    \b
    Examples:
      toolmend config show --origin
      toolmend config check toolmend.toml

    The first of these that sets a key wins: an option (--set toolmend_keep=7d), a variable (TOOLMEND_KEEP=7d),
    ./toolmend.toml, the user's config.toml, the default. A file named by toolmend_config or TOOLMEND_CONFIG replaces
    both files. A ./toolmend.toml that is not named cannot set hosts, routes, folders or listeners, as it may have
    come with a repository.
    """


@config.command()
@click.option("--origin", is_flag=True, help="Also the source: a file and its line, a variable, or the default.")
@click.option("--config", "file", default="", metavar="FILE.toml", help="Settings of this file instead of the default files.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, with the sources.")
def show(origin: bool, file: str, as_json: bool) -> None:
    """Show each setting that applies here: in this folder, with these variables.

    \b
    Examples:
      toolmend config show --origin
      toolmend config show --json | jq -r '.settings.flows.value'
    """
    layers = _layers({"config": file})
    values = {key: (_value(key, setting), setting.origin) for key, setting in layers.given.items()}
    values |= _tables(layers)
    if as_json:
        document = {
            "version": VERSION,
            "files": [str(one.path) for one in layers.files],
            "settings": {key: {"value": value, "origin": by} for key, (value, by) in values.items()},
        }
        click.echo(json.dumps(document, indent=2))
    elif origin:
        print_rows(("setting", "value", "origin"), [[key, value, by] for key, (value, by) in values.items()])
    else:
        print_rows(("setting", "value"), [[key, value] for key, (value, _) in values.items()])


@config.command()
@click.argument("file", default="", metavar="[FILE.toml]")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def check(file: str, as_json: bool) -> None:
    """Check the settings of a file, or all that apply here.

    \b
    Examples:
      toolmend config check
      toolmend config check toolmend.toml && echo fine

    Exit code 4: something is wrong; the error names the file, the line and the valid form.
    """
    layers = _layers({"config": file})
    files = [str(one.path) for one in layers.files]
    if as_json:
        click.echo(json.dumps({"version": VERSION, "files": files, "right": True}))
        return
    missing = f"no file: neither ./toolmend.toml nor {user_file() or 'one of the user'}"
    text = " and ".join(files) if files else "files are switched off" if named(file)[0] else missing
    click.echo(f"{visible(text)}{': valid' if files else ', and the variables are valid'}")


def _layers(options: Mapping[str, str]) -> Layers:
    """Returns all settings with their sources, checked."""
    try:
        layers = everywhere(options)
        checked(layers)
    except SettingsError as error:
        raise CliError(str(error), try_="toolmend config --help", code=Exit.CONFIGURATION) from None
    return layers


def _value(key: str, setting: GivenSetting) -> str:
    default = str(data_folder() / "flows") if key == "flows" else DEFAULTS[key]
    return setting.text or default


def _tables(layers: Layers) -> dict[str, tuple[str, str]]:
    """Returns the dialects, profiles and routes of all files as rows."""
    rows = {f"dialect {row.name}": (f"{row.body}: {row.call.begin[0]}", _of_dialect(layers, row)) for row in layers.own}
    rows |= {f"provider {row.name}": (_fits(row), _file_of(layers, row)) for row in layers.providers}
    return rows | {f"route {n}": (f"{row.source} → {row.target}", row.where) for n, row in enumerate(layers.routes, 1)}


def _fits(profile: Profile) -> str:
    return " ".join((*profile.models, *profile.hosts)) or "built in"


def _of_dialect(layers: Layers, dialect: OwnDialect) -> str:
    return next(str(file.path) for file in layers.files if any(row is dialect for row in file.own))


def _file_of(layers: Layers, profile: Profile) -> str:
    return next(str(file.path) for file in layers.files if any(row is profile for row in file.providers))
