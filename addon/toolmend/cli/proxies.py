"""What `run`, `start` and `env` have in common: the options of a proxy that is to be started, and what its log says of it.

Rule of this file: an option that mitmproxy would swallow without a word is refused here.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ..config.data_folder import data_folder, from_one_line
from ..config.store_url import is_url
from . import Exit, Problem
from .launcher.certificates import kept_bundle
from .launcher.corporate_proxy import UnusableError, company
from .launcher.environment import LOOPBACK, before, confdir
from .launcher.proxy import OPTIONS, addon_path
from .recordings import FOLDER, Place

_FOLDERS = re.compile(r"toolmend_(config|flows|replay)", re.IGNORECASE)
"""Options and variables whose value is a path, a URL, or `off`."""

_SET = re.compile(r"[a-z][a-z0-9_]*=", re.ASCII)


def proxy_options[F: Callable[..., Any]](command: F) -> F:
    """`--config`, `--set` and `--flows`, as the arguments config, settings and flows."""
    options = (
        click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="A TOML file of settings and routes."),
        click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="An option of mitmproxy's or toolmend's."),
        click.option("--flows", type=FOLDER, metavar="FOLDER", help="Where to keep the recordings; a URL, for a store."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def show_page(recordings: str | None, pid: int, env: Mapping[str, str]) -> None:
    """Has the recordings shown in a browser for as long as a process is there, and says where."""
    from .launcher.page import PageError, start  # noqa: PLC0415  few want it

    if not recordings or is_url(recordings):
        click.echo("toolmend: --ui shows what is recorded in a folder, and here nothing is", err=True)
        return
    try:
        url = start(recordings, pid, env, opens=True)
    except PageError as error:
        click.echo(f"toolmend: the page cannot be shown: {error}; toolmend ui says more", err=True)
        return
    click.echo(f"toolmend: live at {url}", err=True)
    port = url.partition("/#")[0].rpartition(":")[2]
    if env.get("SSH_CONNECTION"):
        click.echo(f"  from where you sit: ssh -L {port}:127.0.0.1:{port} HOST", err=True)


def own_options(config: Path | None, settings: Sequence[str], flows: Place | None) -> tuple[dict[str, str], Path]:
    """The options of a proxy of ours, and its confdir. What the user says himself stands above what we would say."""
    for word in settings:
        if not _SET.match(word):
            raise Problem(f"--set {word} is no NAME=VALUE", try_="--set toolmend_dialects=kimi_k2", code=Exit.USAGE)
    said = dict(word.split("=", 1) for word in settings)
    if config:
        said["toolmend_config"] = str(config)
    if flows:
        said["toolmend_flows"] = str(flows)
    folder = Path(said.pop("confdir", "") or confdir()).expanduser()
    ours = dict(OPTIONS)
    known = {*said, *_in_yaml(folder)}
    if "mode" not in known and (through := _company()):
        ours["mode"] = through
    if "ssl_verify_upstream_trusted_ca" not in known:  # or it would trust Mozilla's CAs alone, no company's
        ours["ssl_verify_upstream_trusted_ca"] = str(kept(before(os.environ)))
    return ours | absolute(said), folder


def absolute(values: Mapping[str, str]) -> dict[str, str]:
    """Options, or variables, as they are from any folder: the proxy in the background is in none of the user's."""
    return {
        name: str(Path(value).expanduser().absolute()) if _is_path(value) and _FOLDERS.fullmatch(name) else value
        for name, value in values.items()
    }


def _is_path(value: str) -> bool:
    return bool(value) and value != "off" and not is_url(value)


def kept(given: Mapping[str, str], *extra: Path) -> Path:
    """The bundle of CAs for an environment, in the data folder. Raises Problem."""
    try:
        return kept_bundle(data_folder(), given, *extra)
    except OSError as error:
        wrong = f"the CAs that your programs trust cannot be kept: {error.strerror}: {error.filename}"
        raise Problem(wrong, try_="XDG_DATA_HOME=FOLDER, one that can be written") from None


def _in_yaml(folder: Path) -> list[str]:
    """The options that the user has set for all mitmproxies: they are read by mitmproxy itself."""
    try:
        return re.findall(r"^(\w+)\s*:", (folder / "config.yaml").read_text(encoding="utf-8"), re.MULTILINE)
    except (OSError, ValueError):
        return []


def _company() -> str | None:
    try:
        found = company(os.environ)
    except UnusableError as error:
        hint = "unset HTTPS_PROXY https_proxy ALL_PROXY all_proxy; or --set mode=regular, to go without it"
        raise Problem(str(error), try_=hint, code=Exit.CONFIGURATION) from None
    return found.mode if found else None


def start_problem(error: Exception) -> Problem:
    """Why a proxy did not start: what is wrong with the settings, or else its last words."""
    if found := re.findall(r"(?:OptionsError: |toolmend: (?=there is no option ))(.*)$", str(error), re.MULTILINE):
        return Problem(found[-1], try_="toolmend config check", code=Exit.CONFIGURATION)
    return Problem(f"the proxy did not start: {error}", try_="toolmend doctor")


def scripts() -> list[Path]:
    """What such a proxy loads."""
    return [addon_path(), Path(__file__).resolve().parent / "launcher" / "stats_addon.py"]


def recordings_of(log: str) -> str | None:
    """Where the proxy of this log keeps its recordings, if it does."""
    found = re.search(r"toolmend: listens to .*; recordings in (.*)", log)
    return from_one_line(found[1]) if found else None


def named_hosts(log: str) -> list[str]:
    """The hosts on loopback that the settings name as hosts of LLM APIs, as NO_PROXY would name them."""
    found = re.search(r"toolmend: listens to ([^;]*);", log)
    words = found[1].replace(",", " ").split() if found else []
    names = {word.removeprefix("[").partition("]")[0] if "]" in word else word.rpartition(":")[0] or word for word in words}
    return [name for name in LOOPBACK if name in names]
