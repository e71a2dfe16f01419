"""What `run`, `start` and `env` share: the options of the proxy that they start, and what they read from its log.

An option that mitmproxy would silently ignore is refused here.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ..config.data_folder import data_folder, from_one_line
from ..config.store_url import is_url
from . import CliError, Exit
from .launcher.certificates import cached_bundle
from .launcher.corporate_proxy import UnusableError, corporate_proxy
from .launcher.environment import LOOPBACK, confdir, original
from .launcher.proxy import OPTIONS, addon_path
from .recordings import FOLDER, Place

_FOLDERS = re.compile(r"toolmend_(config|flows|replay)", re.IGNORECASE)
"""Options and variables whose value is a path, a URL, or `off`."""

_SET = re.compile(r"[a-z][a-z0-9_]*=", re.ASCII)


def proxy_options[F: Callable[..., Any]](command: F) -> F:
    """Adds `--config`, `--set` and `--flows` to a command, as the arguments config, settings and flows."""
    options = (
        click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="A TOML file of settings and routes."),
        click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="An option of mitmproxy or toolmend."),
        click.option("--flows", type=FOLDER, metavar="FOLDER", help="Where to keep the recordings; a URL for a store."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def show_page(recordings: str | None, pid: int, env: Mapping[str, str]) -> None:
    """Starts `toolmend ui` for as long as process `pid` runs, and prints its address."""
    from .launcher.page import PageError, start  # noqa: PLC0415  rarely used

    if not recordings or is_url(recordings):
        click.echo("toolmend: --ui needs recordings in a folder, but none are kept there", err=True)
        return
    try:
        url = start(recordings, pid, env, opens=True)
    except PageError as error:
        click.echo(f"toolmend: the page cannot be shown: {error}; run toolmend ui for details", err=True)
        return
    click.echo(f"toolmend: live at {url}", err=True)
    port = url.partition("/#")[0].rpartition(":")[2]
    if env.get("SSH_CONNECTION"):
        click.echo(f"  from your own machine: ssh -L {port}:127.0.0.1:{port} HOST", err=True)


def own_options(config: Path | None, settings: Sequence[str], flows: Place | None) -> tuple[dict[str, str], Path]:
    """Returns the options of a proxy to start, and its confdir. The user's own options override toolmend's.

    Args:
        config: `--config`.
        settings: `--set`, each NAME=VALUE.
        flows: `--flows`.

    Raises:
        CliError: A setting is malformed, or the CA bundle cannot be written.
    """
    for word in settings:
        if not _SET.match(word):
            raise CliError(f"not NAME=VALUE: --set {word}", try_="--set toolmend_dialects=kimi_k2", code=Exit.USAGE)
    user_options = dict(word.split("=", 1) for word in settings)
    if config:
        user_options["toolmend_config"] = str(config)
    if flows:
        user_options["toolmend_flows"] = str(flows)
    folder = Path(user_options.pop("confdir", "") or confdir()).expanduser()
    options = dict(OPTIONS)
    option_names_set = {*user_options, *_in_yaml(folder)}
    if "mode" not in option_names_set and (upstream_mode := _upstream_mode()):
        options["mode"] = upstream_mode
    if "ssl_verify_upstream_trusted_ca" not in option_names_set:  # otherwise mitmproxy trusts Mozilla's CAs only, not a company's
        options["ssl_verify_upstream_trusted_ca"] = str(ca_bundle(original(os.environ)))
    return options | absolute(user_options), folder


def absolute(values: Mapping[str, str]) -> dict[str, str]:
    """Returns options or variables with absolute paths: the background proxy runs in another folder."""
    return {
        name: str(Path(value).expanduser().absolute()) if _is_path(value) and _FOLDERS.fullmatch(name) else value
        for name, value in values.items()
    }


def _is_path(value: str) -> bool:
    return bool(value) and value != "off" and not is_url(value)


def ca_bundle(given: Mapping[str, str], *extra: Path) -> Path:
    """Returns the bundle of CAs for an environment, kept in the data folder.

    Raises:
        CliError: It cannot be written.
    """
    try:
        return cached_bundle(data_folder(), given, *extra)
    except OSError as error:
        wrong = f"the bundle of CAs cannot be written: {error.strerror}: {error.filename}"
        raise CliError(wrong, try_="XDG_DATA_HOME=FOLDER, a writable one") from None


def _in_yaml(folder: Path) -> list[str]:
    """Returns the names of the options in mitmproxy's own config.yaml, which mitmproxy reads itself."""
    try:
        return re.findall(r"^(\w+)\s*:", (folder / "config.yaml").read_text(encoding="utf-8"), re.MULTILINE)
    except (OSError, ValueError):
        return []


def _upstream_mode() -> str | None:
    try:
        found = corporate_proxy(os.environ)
    except UnusableError as error:
        hint = "unset HTTPS_PROXY https_proxy ALL_PROXY all_proxy; or --set mode=regular, to connect directly"
        raise CliError(str(error), try_=hint, code=Exit.CONFIGURATION) from None
    return found.mode if found else None


def start_problem(error: Exception) -> CliError:
    """Returns why a proxy did not start: the wrong setting, or else the end of its log."""
    if found := re.findall(r"(?:OptionsError: |toolmend: (?=no such option: ))(.*)$", str(error), re.MULTILINE):
        return CliError(found[-1], try_="toolmend config check", code=Exit.CONFIGURATION)
    return CliError(f"the proxy did not start: {error}", try_="toolmend doctor")


def scripts() -> list[Path]:
    """Returns the scripts that such a proxy loads."""
    return [addon_path(), Path(__file__).resolve().parent / "launcher" / "stats_addon.py"]


def recordings_of(log: str) -> str | None:
    """Returns the recordings' folder or URL from a proxy's log, or None."""
    found = re.search(r"toolmend: listens to .*; recordings in (.*)", log)
    return from_one_line(found[1]) if found else None


def named_hosts(log: str) -> list[str]:
    """Returns the loopback hosts that the settings name as LLM hosts, in the form of NO_PROXY entries."""
    found = re.search(r"toolmend: listens to ([^;]*);", log)
    words = found[1].replace(",", " ").split() if found else []
    names = {word.removeprefix("[").partition("]")[0] if "]" in word else word.rpartition(":")[0] or word for word in words}
    return [name for name in LOOPBACK if name in names]
