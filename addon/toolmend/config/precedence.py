"""Which value of a setting applies: the strongest source wins.

    an option      mitmdump --set toolmend_keep=7d, or in mitmproxy's config.yaml; on the command line --set, --keep …
    a variable     TOOLMEND_KEEP=7d
    a file         keep = "7d" in toolmend.toml or the user's config.toml: see config_places.py
    the default

Empty texts count as unset. Profiles and routes of all files apply; of two profiles with one name, the stronger file's applies.

Only names are checked here; values are checked in settings.py.
"""

import os
from collections.abc import Mapping
from difflib import get_close_matches

from ..core.fastclass import value
from ..dialects.own import OwnDialect
from ..providers.model_profiles import Profile
from ..providers.routes import Route
from .checks import SettingsError
from .config_file import ConfigFile, GivenSetting, read
from .config_places import ConfigPlace, found, named
from .data_folder import expand
from .option_names import KEYS, OPTIONS, OTHERS, VARIABLES
from .price_tables import Price

DEFAULT = "default"


@value
class Layers:
    """`given`: the applicable text of every key; a default is empty. `files`: those that were read, the strongest first."""

    given: Mapping[str, GivenSetting]
    files: tuple[ConfigFile, ...] = ()

    @property
    def providers(self) -> tuple[Profile, ...]:
        rows: dict[str, Profile] = {}
        for file in self.files:
            rows |= {row.name: row for row in file.providers if row.name not in rows}
        return tuple(rows.values())

    @property
    def own(self) -> tuple[OwnDialect, ...]:
        rows: dict[str, OwnDialect] = {}
        for file in self.files:
            rows |= {row.name: row for row in file.own if row.name not in rows}
        return tuple(rows.values())

    @property
    def prices(self) -> tuple[Price, ...]:
        return tuple(price for file in self.files for price in file.prices)

    @property
    def routes(self) -> tuple[Route, ...]:
        return tuple(route for file in self.files for route in file.routes)


def alone(options: Mapping[str, str]) -> Layers:
    """Returns options and the file that they name: a recording's settings, independent of the machine. Raises SettingsError."""
    return _layers(options, {}, _files(options.get("config", "").strip() or "off", "toolmend_config"))


def everywhere(options: Mapping[str, str]) -> Layers:
    """Returns options (keyed without their prefix), variables and files. Raises SettingsError."""
    return _layers(options, variables(), _files(*named(options.get("config", ""))))


def variables() -> dict[str, str]:
    """Returns the variables of the environment by key. Raises SettingsError for an unknown name with toolmend's prefix."""
    for name in sorted(os.environ):
        if name.startswith("TOOLMEND_") and name not in VARIABLES and name not in OTHERS:
            known = ", ".join((*VARIABLES, *OTHERS))
            near = get_close_matches(name.removeprefix("TOOLMEND_").lower(), OPTIONS, n=1)
            hint = f" (did you mean TOOLMEND_{near[0].upper()}?)" if near else ""
            raise SettingsError(f"no such variable: {name}{hint}, unset it; the variables are {known}")
    return {key: text for name, key in VARIABLES.items() if (text := os.environ.get(name, "").strip())}


def _files(name: str, named_by: str) -> tuple[ConfigFile, ...]:
    """Reads the named file, or else those that are found."""
    if name.lower() == "off":
        return ()
    places = (ConfigPlace(expand(named_by, name), named_by),) if name else found()
    return tuple(read(place) for place in places)


def _layers(options: Mapping[str, str], environment: Mapping[str, str], files: tuple[ConfigFile, ...]) -> Layers:
    given = {}
    for key in KEYS:
        option, variable = f"toolmend_{key}", f"TOOLMEND_{key.upper()}"
        if text := options.get(key, "").strip():
            given[key] = GivenSetting(option, f"option {option}", text)
        elif text := environment.get(key, ""):
            given[key] = GivenSetting(variable, f"variable {variable}", text)
        else:
            from_file = next((file.given[key] for file in files if key in file.given), None)
            given[key] = from_file or GivenSetting(option, DEFAULT, "")
    return Layers(given, files)
