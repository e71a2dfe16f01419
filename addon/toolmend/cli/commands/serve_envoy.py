"""`toolmend serve-envoy`: the worker that a team's Envoy has its LLM answers mended by.

Rule of this file: what is wrong is said before anything listens. The address alone goes to stdout; words and the log go to
stderr. What a worker does stands in toolmend/proxy/envoy/; its packages are an extra, so it is imported when the command runs.
"""

import asyncio
import logging
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

import click
from mitmproxy import exceptions

from ...config.checks import SettingsError, suggestion
from ...config.option_names import OPTIONS
from ...config.settings import load
from ...proxy.envoy.listening import ListenError, is_local_only, is_valid_address
from .. import Exit, Problem
from ..error_hints import misset

LISTEN = "127.0.0.1:18711"
GRACE = 600.0
"""Seconds: what a model takes for its longest answers."""

EXTRA = "pip install 'toolmend[envoy]'"


@click.command()
@click.option("--listen", default=LISTEN, show_default=True, metavar="ADDRESS", help="HOST:PORT or unix:/PATH.")
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="A TOML file of settings and routes.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="An option of toolmend's, as in toolmend_keep=7d.")
@click.option("--flows", metavar="FOLDER", help="Where to keep the recordings, or off; workers may share it.")
@click.option("--metrics", metavar="HOST:PORT", help="Where Prometheus finds this worker's metrics.")
@click.option("--grace", type=click.FloatRange(min=0), default=GRACE, show_default=True, help="Seconds that streams have to end.")
def serve_envoy(
    listen: str, config: Path | None, settings: tuple[str, ...], flows: str | None, metrics: str | None, grace: float
) -> None:
    """Mend, translate and record LLM answers for Envoy: a worker of its ext_proc filter.

    Settings and what they do are those of the proxy. `toolmend envoy-config` prints the configuration that Envoy needs.

    Envoy speaks gRPC with it in plain text, keys of clients included, and who connects can ask for the keys of routes: let both
    be on one machine, or in a network of their own. Port 0 is any; a socket (unix:/PATH) is its owner's alone.

    SIGTERM: new exchanges go to other workers, those under way end here; a second one ends them. Health is told as gRPC tells it
    (grpc.health.v1), at the same address.

    \b
    Examples:
      toolmend serve-envoy --config team.toml
      toolmend serve-envoy --listen 127.0.0.1:18712 --metrics 127.0.0.1:9465
      toolmend serve-envoy --listen unix:/run/toolmend/1.sock --grace 30

    Exit codes: 3 it cannot listen there, or a package is missing; 4 the settings are wrong.
    """
    options = _options(settings, {"config": str(config or ""), "flows": flows or "", "metrics": metrics or ""})
    if not is_valid_address(listen):
        raise Problem(f"--listen {listen} is no HOST:PORT, and no unix:/PATH", try_=_again("--listen", LISTEN), code=Exit.USAGE)
    try:
        if load({name.removeprefix("toolmend_"): value for name, value in options.items()}).replay:
            wrong = "toolmend_replay: a worker sends nothing to an upstream, so it cannot play recordings in the place of one"
            raise Problem(wrong, try_="toolmend serve --port 4010, and Envoy's cluster at it", code=Exit.CONFIGURATION)
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what is wrong, we say ourselves
        from ...proxy.envoy.server import serve  # noqa: PLC0415  an extra
    except SettingsError as error:
        raise misset(error, str(config or "")) from None
    except ImportError as error:
        raise Problem(f"serve-envoy needs {error.name}, which is not installed", try_=EXTRA) from None
    if not is_local_only(listen):
        what = "what Envoy says there is plain text, clients' keys included"
        click.echo(f"warning: {listen} is not this machine's alone, and {what}", err=True)
    _log()
    try:
        asyncio.run(serve(listen, options, grace, _print_address))
    except ListenError:
        wrong = f"it cannot listen at {listen}: something else does, or it is no address of this machine's"
        raise Problem(wrong, try_=_again("--listen", "127.0.0.1:0")) from None
    except exceptions.OptionsError as error:
        raise misset(error, str(config or "")) from None


def _options(settings: Sequence[str], named: dict[str, str]) -> dict[str, str]:
    """What is set, by mitmproxy's names. Raises Problem: what means nothing here would be swallowed without a word."""
    known = [f"toolmend_{key}" for key in OPTIONS]
    found: dict[str, str] = {}
    for word in settings:
        name, equals, value = word.partition("=")
        if not equals:
            raise Problem(f"--set {word} is no NAME=VALUE", try_=_again("--set", "toolmend_dialects=kimi_k2"), code=Exit.USAGE)
        if name not in known:
            wrong = f"--set {name}: a worker has no such option{suggestion(name, known)}; there are {', '.join(known)}"
            raise Problem(wrong, try_="toolmend serve-envoy --help", code=Exit.CONFIGURATION)
        if name in found:
            raise Problem(f"--set {name} is there twice", try_="toolmend serve-envoy --help", code=Exit.USAGE)
        found[name] = value
    return found | {f"toolmend_{name}": value for name, value in named.items() if value}


def _log() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("[%(asctime)s] %(message)s", "%H:%M:%S"))
    handler.setLevel(logging.INFO)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)


def _print_address(address: str) -> None:
    click.echo(f"toolmend serve-envoy: listens at {address}; toolmend envoy-config has what Envoy needs", err=True)
    click.echo(address)


def _again(*words: str) -> str:
    return shlex.join(["toolmend", "serve-envoy", *words])
