"""Checks of the settings: they are valid, nothing expected is switched off, and the routes have keys."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from ...config import config_places
from ...config.checks import SettingsError
from ...config.settings import Settings, load
from .finding import Finding, Machine, fault, ok, warning
from .writable_by_others import close_command, writable_by_others

_DO = re.compile(r", do: ((?:chmod|pip install) .+)$")
_UNSET = re.compile(r"the variable (\w+) is not set")


def settings(machine: Machine) -> Iterator[Finding]:
    """Checks options, variables and files."""
    check = shlex.join(["toolmend", "config", "check", *([str(machine.config)] if machine.config else [])])
    try:
        given = read(machine)
    except SettingsError as error:
        text = str(error)
        do, unset = _DO.search(text), _UNSET.search(text)
        yield fault(text, do[1] if do else f"export {unset[1]}=…" if unset else check)
        return
    except RecursionError:
        yield fault("the settings are nested too deeply", check)
        return
    off = list(_switched_off(given))
    yield from (warning(text, "toolmend config show") for text in off)
    files = [str(machine.config)] if machine.config else _files()
    written = list(dict.fromkeys(place for file in files if (place := writable_by_others(Path(file)))))
    for place in written:
        yield warning(f"others can write to {place}, and so decide where requests and keys go", close_command(place))
    if not off and not written:
        routes = f", {len(given.routes)} route{'' if len(given.routes) == 1 else 's'}" if given.routes else ""
        yield ok(f"the settings are valid ({', '.join(files) or 'no file, the defaults'}{routes})")


def keys(machine: Machine) -> Iterator[Finding]:
    """Checks the keys of the routes. Keys that are named but missing are reported by `settings`."""
    try:
        given = read(machine).routes
    except (SettingsError, RecursionError):
        return  # reported by `settings`
    named = list(dict.fromkeys(route.key_from for route in given if route.key_from))
    bare = [route for route in given if not route.key and route.host != route.to.host]
    for route in bare:
        yield warning(
            f"{route.where}: the route to {route.to.netloc} has no key, and the client's own is not sent to another host",
            'add key = "env:…" to its [[route]]',
        )
    if not bare:
        yield ok(f"the routes' keys are set: {', '.join(named)}" if named else "no route needs a key")


def read(machine: Machine) -> Settings:
    """Returns the settings.

    Raises:
        SettingsError: They are wrong.
    """
    return load({"config": str(machine.config or "")})


def _switched_off(given: Settings) -> Iterator[str]:
    if given.mode == "observe":
        yield "mode is observe: what would be mended is reported, and nothing is changed"
    if given.dialects == ():
        yield "dialects is off: text is not searched for calls"
    if given.flows is None:
        yield "flows is off: nothing is recorded"


def _files() -> list[str]:
    path, _ = config_places.named()
    if path:
        return [] if path == "off" else [path]
    return [str(place.path) for place in config_places.found()]
