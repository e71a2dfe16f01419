"""The user's settings: the texts of options, variables and files, checked.

    hosts     host globs in addition to the built-in table: "llm.example.com, *.corp.example:8443"
    dialects  "auto", "known" (without what only unknown models may write), "off", or names: "kimi_k2"
    mode      "mend", or "observe": what would be mended is recorded and reported, and nothing is changed
    off       rules and hosts that are left alone: "finish_reason, api.openai.com"; see off.py
    flows     the folder for recordings, the URL of a store ("s3://bucket/prefix"), or "off"
    keep      how much of them is kept, and how long: "500MB 14d", or "all"
    replay    a folder of recordings that answer the LLM requests, or "off"; replay_miss: for a request without a
              matching recording, "fail" or "forward"
    policy    "mixed", "first", "collect" or "drain": see pipeline/transformers/policy.py; its limits are whole numbers:
              max_calls, collect_ms, max_bytes
    intercept whose TLS is opened: "llm" (only hosts with an LLM API), or "all"
    metrics   "127.0.0.1:9464", "otel", both, or "off": see targets.py
    config    a TOML file with these keys, as in  hosts = ["..", ".."]   dialects = "off"   max_calls = 8,  and with
              tables [[provider]] and [[route]]: see provider_tables.py and route_tables.py

An unknown value is an error, never a default. The error is one sentence that names the setting, the wrong value, and a correct
one. Precedence: see precedence.py.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..core.fastclass import value
from ..dialects import DIALECTS
from ..dialects.own import OwnDialect
from ..pipeline.settings import MendSettings
from ..providers.routes import Route
from . import precedence
from .checks import SettingsError, host_globs, suggestion, words
from .config_file import GivenSetting
from .data_folder import expand, recordings_folder
from .dialect_tables import of_json, to_json
from .off import parse as _off
from .option_names import KEYS, LIMITS, OPTIONS
from .retention import DEFAULT as KEEP
from .retention import Keep
from .retention import parse as _keep
from .store_url import StoreUrl, is_url
from .targets import NO_TARGETS, Targets
from .targets import parse as _metrics

__all__ = [
    "KEYS",
    "LIMITS",
    "OPTIONS",
    "POLICIES",
    "Settings",
    "SettingsError",
    "checked",
    "load",
    "parse",
    "recorded",
    "spelled",
    "suggestion",
]

POLICIES = ("mixed", "first", "collect", "drain")
MISSES = ("fail", "forward")
"""What becomes of a request without a matching recording."""
INTERCEPTS = ("llm", "all")
"""Whose TLS is opened."""
MODES = ("mend", "observe")

_ALONE = ("auto", "known", "off")
"""Words for dialects that cannot be combined."""

_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


@value
class Settings(MendSettings):
    """All settings.

    Attributes:
        hosts: Globs.
        flows: Where recordings go; None: off.
        keep: How much of them is kept.
        replay: The folder of recordings that answer; None: off.
        replay_miss: One of MISSES.
        routes: The first one that matches a request is used.
        metrics: Where metrics go.
        intercept: One of INTERCEPTS.
        mode: One of MODES.
    """

    hosts: tuple[str, ...] = ()
    flows: Path | StoreUrl | None = None
    keep: Keep = KEEP
    replay: Path | None = None
    replay_miss: str = "fail"
    routes: tuple[Route, ...] = ()
    metrics: Targets = NO_TARGETS
    intercept: str = "llm"
    mode: str = "mend"


def load(options: Mapping[str, str]) -> Settings:
    """Returns the settings of this process: options (keyed without their prefix), variables and files. Raises SettingsError."""
    return checked(precedence.everywhere(options))


def parse(options: Mapping[str, str]) -> Settings:
    """Returns the settings of options and the file that they name only, as for a replay. Raises SettingsError."""
    own = of_json(options["own_dialects"]) if "own_dialects" in options else ()
    return checked(precedence.alone(options), own)


def checked(layers: precedence.Layers, recorded_own: tuple[OwnDialect, ...] = ()) -> Settings:
    """Returns the checked settings; `recorded_own`: the dialects of a recording. Raises SettingsError."""
    given, own = layers.given, layers.own + recorded_own
    return Settings(
        hosts=host_globs(*_of(given["hosts"])),
        dialects=_dialects(*_of(given["dialects"]), [row.name for row in own]),
        flows=recordings_folder(*_of(given["flows"])),
        keep=_keep(*_of(given["keep"])),
        providers=layers.providers,
        replay=_replay(*_of(given["replay"])),
        replay_miss=_one_of("value", MISSES, *_of(given["replay_miss"])),
        policy=_one_of("policy", POLICIES, *_of(given["policy"])),
        max_calls=_limit("max_calls", *_of(given["max_calls"])),
        collect_ms=_limit("collect_ms", *_of(given["collect_ms"])),
        max_bytes=_limit("max_bytes", *_of(given["max_bytes"])),
        routes=layers.routes,
        metrics=_metrics(*_of(given["metrics"])),
        intercept=_one_of("value", INTERCEPTS, *_of(given["intercept"])),
        mode=_one_of("mode", MODES, *_of(given["mode"])),
        off=_off(*_of(given["off"])),
        strangers=words(given["dialects"].text.lower()) != ["known"],
        own=own,
    )


def recorded(settings: Settings, host: str = "") -> dict[str, str]:
    """Returns the options that a replay needs to produce the same bytes for a host's response, as `parse` reads them."""
    options = {"dialects": spelled(settings)}
    if settings.policy != "mixed":
        options |= {name: str(getattr(settings, name)) for name in ("policy", *LIMITS)}
    if settings.mode != "mend":
        options["mode"] = settings.mode
    if off := settings.off.text_for(host):
        options["off"] = off
    if settings.own and settings.dialects != ():
        options["own_dialects"] = to_json(settings.own)
    return options


def spelled(settings: Settings) -> str:
    """Returns dialects as an option has them: `auto`, `known`, `off`, `kimi_k2,other`."""
    if settings.dialects is None:
        return "auto" if settings.strangers else "known"
    return ",".join(settings.dialects) or "off"


def _of(given: GivenSetting) -> tuple[str, str]:
    return given.where, given.text


def _dialects(where: str, text: str, own: Sequence[str]) -> tuple[str, ...] | None:
    names = tuple(dict.fromkeys(word.lower() for word in words(text)))
    if names in ((), ("auto",), ("known",)):
        return None
    if names == ("off",):
        return ()
    for name in names:
        if name in _ALONE:
            raise SettingsError(f"{where}: {name!r} stands alone, write either {name} or names of dialects")
        if name not in DIALECTS and name not in own:
            known = ", ".join((*DIALECTS, *own))
            hint = suggestion(name, [*DIALECTS, *own, *_ALONE])
            raise SettingsError(f"{where}: no such dialect: {name!r}{hint}, write auto, known, off, or some of: {known}")
    return names


def _replay(where: str, text: str) -> Path | None:
    if text.lower() in ("", "off"):
        return None
    if is_url(text):
        raise SettingsError(f"{where}: it has to be a folder, not a URL; recordings in a store are played by: toolmend serve")
    folder = expand(where, text)
    if not os.path.isdir(folder):  # noqa: PTH112  Path.is_dir raises for invalid names
        raise SettingsError(f"{where}: no such folder: {text!r}, write the name of a folder of recordings, or off")
    return folder


def _one_of(kind: str, known: Sequence[str], where: str, text: str) -> str:
    """Returns a word of a list; the first is the default."""
    name = text.lower() or known[0]
    if name not in known:
        raise SettingsError(f"{where}: no such {kind}: {text!r}{suggestion(name, known)}, write one of: {', '.join(known)}")
    return name


def _limit(key: str, where: str, text: str) -> int:
    if text and not _NUMBER.fullmatch(text):
        raise SettingsError(f"{where}: {text!r} is not a limit, write a whole number above 0, as in {LIMITS[key]}")
    return int(text or LIMITS[key])
