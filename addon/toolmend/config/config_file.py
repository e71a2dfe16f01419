"""Parses one settings file: its keys, each with its line, and its tables.

    hosts = ["llm.example.com"]        "toolmend.toml:1: hosts" is given as "llm.example.com", as an option would

Unknown content is an error with file, line and a correction. Text of the file in a message has no terminal control characters.
"""

import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from ..core.fastclass import value
from ..dialects.own import OwnDialect
from ..providers.model_profiles import Profile
from ..providers.routes import Route
from .checks import SettingsError, suggestion
from .config_places import PROJECT, ConfigPlace, user_file
from .data_folder import expand
from .dialect_tables import dialects
from .option_names import HARMLESS, KEYS, LIMITS, RIGHT, TABLES
from .price_tables import Price, prices
from .provider_tables import line_of, profiles
from .route_tables import routes
from .store_url import is_url

MOST = 1024 * 1024
"""Bytes of a file; a longer one is not a settings file."""

PARTS = 32
"""Of a key, `a.b.c`: the time of tomllib grows with their square, and the file may come from a repository."""

_DOTTED = re.compile(rf"""(?<![\w'".-])(?:[\w'"-]++[ \t]*+\.[ \t]*+){{{PARTS}}}""")
_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
"""The end of a tomllib message."""


@value
class GivenSetting:
    """The text of a setting, in the form of an option.

    `where`: the setting, for errors. `origin`: option, variable, or file and line.
    """

    where: str
    origin: str
    text: str


@value
class ConfigFile:
    """`given`: by key."""

    path: Path
    given: Mapping[str, GivenSetting] = field(default_factory=dict)
    providers: tuple[Profile, ...] = ()
    routes: tuple[Route, ...] = ()
    own: tuple[OwnDialect, ...] = ()
    prices: tuple[Price, ...] = ()


def read(place: ConfigPlace) -> ConfigFile:
    """Parses a file. Raises SettingsError."""
    path = place.path
    source = _source(place)
    if deep := _DOTTED.search(source):
        line = 1 + source.count("\n", 0, deep.start())
        raise SettingsError(f"{path}:{line}: a key has more than {PARTS} parts, correct it")
    try:
        table = tomllib.loads(source)
        _sized(table)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(_toml_error(path, source, str(error))) from None
    except ValueError:  # tomllib calls int(), which refuses some thousand digits
        raise SettingsError(f"{path}: a number has more digits than can be read, correct it") from None
    except RecursionError:
        raise SettingsError(f"{path}: its values are nested too deeply, correct it") from None
    for key in table:
        line = line_of(key, source)
        if key not in (*KEYS, *TABLES):
            hint = suggestion(key.removeprefix("toolmend_"), (*KEYS, *TABLES))
            right = f"write one of: {', '.join((*KEYS, *TABLES))}"
            raise SettingsError(f"{path}:{line}: {_shown(key)} is not a setting{hint}, {right}")
        if not place.trusted and key not in HARMLESS:
            raise SettingsError(f"{path}:{line}: {_refused(key)}")
    own = dialects(str(path), source, table.pop("dialect", []))
    providers = profiles(str(path), source, table.pop("provider", []), [row.name for row in own])
    routes_ = routes(path, source, table.pop("route", []))
    prices_ = prices(str(path), source, table.pop("price", []))
    given = {}
    for key, content in table.items():
        origin = f"{path}:{line_of(key, source)}"
        where = f"{origin}: {key}"
        given[key] = GivenSetting(where, origin, _text(where, key, content, path))
    return ConfigFile(path, given, providers, routes_, own, prices_)


def _sized(value: object) -> None:
    """Raises ValueError for an integer beyond 64 bits: a long hexadecimal one could not be printed."""
    match value:
        case int() if value.bit_length() > 63:
            raise ValueError
        case dict() | list():
            for item in value.values() if isinstance(value, dict) else value:
                _sized(item)


def _source(place: ConfigPlace) -> str:
    """Returns the text of a file. An unnamed file must be a regular file: reading a pipe would never end."""
    path, right = place.path, "write the path of a TOML file"
    where = place.named or str(path)
    try:
        if not place.named and not stat.S_ISREG(path.stat().st_mode):
            raise SettingsError(f"{where}: it is not a file, remove it, or put a TOML file there")
        with path.open("rb") as file:
            data = file.read(MOST + 1)
    except FileNotFoundError:
        raise SettingsError(f"{where}: no such file: {str(path)!r}, {right}") from None
    except OSError as error:
        raise SettingsError(f"{where}: {str(path)!r} cannot be read ({error.strerror or error}), {right}") from None
    if len(data) > MOST:
        raise SettingsError(f"{where}: {str(path)!r} is longer than {MOST} bytes, {right}")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise SettingsError(f"{where}: {str(path)!r} is not UTF-8, save it as a UTF-8 text") from None


def _toml_error(path: Path, source: str, message: str) -> str:
    at = _AT.search(message)
    lines = source.split("\n")
    line, column = (int(at[1]), int(at[2])) if at and at[1] else (len(lines), len(lines[-1]) + 1)
    return f"{path}:{line}:{column}: it is not TOML, correct it: {_shown(_AT.sub('', message))}"


def _refused(key: str) -> str:
    name = f"[[{key}]]" if key in TABLES else key
    own = user_file()
    home = f", or put it into {own}" if own else ""
    return (
        f"{name} is not taken from a file that only lies in the working directory, as it may have come with a repository: "
        f"name the file, with toolmend_config=./{PROJECT} or TOOLMEND_CONFIG=./{PROJECT}{home}"
    )


def _text(where: str, key: str, value: object, path: Path) -> str:
    """Returns a value as an option has it."""
    match key, value:
        case ("flows" | "replay"), ("" | "off"):
            return str(value)
        case ("flows" | "replay"), str() if is_url(value):
            return value
        case ("flows" | "replay"), str():
            return str(path.parent / expand(where, value))  # relative to the file, not to the working directory
        case (("hosts" | "off" | "dialects"), list()):
            words = [word for word in value if isinstance(word, str)]
            if len(words) == len(value) and (words or key != "dialects"):
                return " ".join(words)
        case str(), int() if key in LIMITS and not isinstance(value, bool):
            return str(value)
        case str(), str() if key not in LIMITS and key != "hosts":
            return value
    raise SettingsError(f"{where}: {value!r} is not understood, write {key} = {RIGHT[key]}")


def _shown(text: str) -> str:
    return text if text.isprintable() else repr(text)
