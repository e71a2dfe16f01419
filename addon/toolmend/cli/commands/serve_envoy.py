"""`toolmend serve-envoy`: runs a worker that mends LLM responses for a team's Envoy.

Errors are reported before anything listens. Only the address goes to stdout. The worker is in toolmend/proxy/envoy/; its packages
are an optional extra, so they are imported when the command runs.
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
from .. import CliError, Exit
from ..error_hints import settings_error

LISTEN = "127.0.0.1:18711"
GRACE = 600.0
"""Seconds: enough for a model's longest responses."""

EXTRA = "pip install 'toolmend[envoy]'"


@click.command()
@click.option("--listen", default=LISTEN, show_default=True, metavar="ADDRESS", help="HOST:PORT or unix:/PATH.")
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="A TOML file of settings and routes.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="An option of toolmend, as in toolmend_keep=7d.")
@click.option("--flows", metavar="FOLDER", help="Where to keep the recordings, or off; workers may share it.")
@click.option("--metrics", metavar="HOST:PORT", help="The address of this worker's metrics for Prometheus.")
@click.option("--grace", type=click.FloatRange(min=0), default=GRACE, show_default=True, help="Seconds that streams have to end.")
def serve_envoy(
    listen: str, config: Path | None, settings: tuple[str, ...], flows: str | None, metrics: str | None, grace: float
) -> None:
    """Mend, translate and record LLM responses for Envoy: a worker of its ext_proc filter.

    Settings are the same as for the proxy. `toolmend envoy-config` prints the configuration that Envoy needs.

    Envoy connects by gRPC without TLS, sends clients' keys over it, and whoever can connect gets the keys of routes: keep both on
    one machine, or in a network of their own. Port 0 is any free port; a socket (unix:/PATH) is accessible to its owner only.

    After SIGTERM new exchanges go to other workers and those in progress end here; a second SIGTERM ends them. Health is served
    by the standard gRPC service (grpc.health.v1) at the same address.

    \b
    Examples:
      toolmend serve-envoy --config team.toml
      toolmend serve-envoy --listen 127.0.0.1:18712 --metrics 127.0.0.1:9465
      toolmend serve-envoy --listen unix:/run/toolmend/1.sock --grace 30

    Exit codes: 3 it cannot listen there, or a package is missing; 4 the settings are wrong.
    """
    options = _options(settings, {"config": str(config or ""), "flows": flows or "", "metrics": metrics or ""})
    if not is_valid_address(listen):
        raise CliError(f"not HOST:PORT or unix:/PATH: --listen {listen}", try_=_again("--listen", LISTEN), code=Exit.USAGE)
    try:
        if load({name.removeprefix("toolmend_"): value for name, value in options.items()}).replay:
            wrong = "toolmend_replay: a worker has no upstream connection to play recordings on"
            raise CliError(wrong, try_="toolmend serve --port 4010, and Envoy's cluster at it", code=Exit.CONFIGURATION)
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # toolmend reports errors itself
        from ...proxy.envoy.server import serve  # noqa: PLC0415  an optional extra
    except SettingsError as error:
        raise settings_error(error, str(config or "")) from None
    except ImportError as error:
        raise CliError(f"serve-envoy needs {error.name}, which is not installed", try_=EXTRA) from None
    if not is_local_only(listen):
        what = "Envoy's connection is not encrypted and carries clients' keys"
        click.echo(f"warning: other machines can reach {listen}, and {what}", err=True)
    _log()
    try:
        asyncio.run(serve(listen, options, grace, _print_address))
    except ListenError:
        wrong = f"cannot listen at {listen}: it is in use, or not an address of this machine"
        raise CliError(wrong, try_=_again("--listen", "127.0.0.1:0")) from None
    except exceptions.OptionsError as error:
        raise settings_error(error, str(config or "")) from None


def _options(settings: Sequence[str], named: dict[str, str]) -> dict[str, str]:
    """Returns the options by mitmproxy's names. Raises CliError for one that would have no effect here."""
    known = [f"toolmend_{key}" for key in OPTIONS]
    found: dict[str, str] = {}
    for word in settings:
        name, equals, value = word.partition("=")
        if not equals:
            raise CliError(f"not NAME=VALUE: --set {word}", try_=_again("--set", "toolmend_dialects=kimi_k2"), code=Exit.USAGE)
        if name not in known:
            wrong = f"--set {name}: a worker has no such option{suggestion(name, known)}; there are {', '.join(known)}"
            raise CliError(wrong, try_="toolmend serve-envoy --help", code=Exit.CONFIGURATION)
        if name in found:
            raise CliError(f"duplicate option: --set {name}", try_="toolmend serve-envoy --help", code=Exit.USAGE)
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
