"""Checks of the settings: are they understood, do they switch off what is expected, are the keys of the routes there?"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from ...config import config_places
from ...config.checks import SettingsError
from ...config.settings import Settings, load
from .finding import Finding, Machine, fault, ok, warning
from .writable_by_others import closed, others

_DO = re.compile(r", do: ((?:chmod|pip install) .+)$")
_UNSET = re.compile(r"the variable (\w+) is not set")


def settings(machine: Machine) -> Iterator[Finding]:
    """What options, variables and files say."""
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
    written = list(dict.fromkeys(place for file in files if (place := others(Path(file)))))
    for place in written:
        yield warning(f"others can write to {place}, and so say where requests and keys go", closed(place))
    if not off and not written:
        routes = f", {len(given.routes)} route{'' if len(given.routes) == 1 else 's'}" if given.routes else ""
        yield ok(f"the settings are understood ({', '.join(files) or 'no file, the defaults'}{routes})")


def keys(machine: Machine) -> Iterator[Finding]:
    """Where the routes have their keys from: they are there, or the settings would not be understood."""
    try:
        given = read(machine).routes
    except (SettingsError, RecursionError):
        return  # told by `settings`
    named = list(dict.fromkeys(route.key_from for route in given if route.key_from))
    bare = [route for route in given if not route.key and route.host != route.to.host]
    for route in bare:
        yield warning(
            f"{route.where}: the route to {route.to.netloc} has no key, and the client's own goes to no other host",
            'write key = "env:…" below its [[route]]',
        )
    if not bare:
        yield ok(f"the routes' keys are there: {', '.join(named)}" if named else "no route needs a key")


def read(machine: Machine) -> Settings:
    """Raises SettingsError."""
    return load({"config": str(machine.config or "")})


def _switched_off(given: Settings) -> Iterator[str]:
    if given.mode == "observe":
        yield "mode is observe: what would be mended is told, and nothing is changed"
    if given.dialects == ():
        yield "dialects is off: no call is looked for in a text"
    if given.flows is None:
        yield "flows is off: nothing is recorded"


def _files() -> list[str]:
    path, _ = config_places.named()
    if path:
        return [] if path == "off" else [path]
    return [str(place.path) for place in config_places.found()]
