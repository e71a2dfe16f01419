"""The user's settings: what the options, variables and files say, checked.

    hosts     globs of hosts beside the built-in table: "llm.example.com, *.corp.example:8443"
    dialects  "auto", "known" (without what models that are not known may write), "off", or names: "kimi_k2"
    mode      "mend", or "observe": what would be mended is recorded and told, and nothing is changed
    off       rules and hosts that are left alone: "finish_reason, api.openai.com"; see off.py
    flows     the folder for recordings, the URL of one in a store ("s3://bucket/prefix"), or "off"
    keep      how much of them is kept, and how long: "500MB 14d", or "all"
    replay    a folder of recordings that answer the LLM requests, or "off"; replay_miss: what becomes of a request that
              none answers, "fail" or "forward"
    policy    "mixed", "first", "collect" or "drain": see pipeline/transformers/policy.py; its limits are whole numbers:
              max_calls, collect_ms, max_bytes
    intercept whose TLS is opened: "llm" (of hosts that speak an LLM API alone), or "all"
    metrics   where they go, "127.0.0.1:9464", "otel", both, or "off": see targets.py
    config    a TOML file with these keys, as in  hosts = ["..", ".."]   dialects = "off"   max_calls = 8,  and with
              tables [[provider]] and [[route]]: see provider_tables.py and route_tables.py

Rule of this file: a value that is not understood is an error, never a default; and the error is one sentence that names
the setting, the wrong value, and what is right. Who beats whom stands in layers.py.
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
from .config_file import Said
from .data_folder import expand, recordings_folder
from .dialect_tables import of_json, to_json
from .off import parse as _off
from .option_names import KEYS, LIMITS, OPTIONS
from .retention import DEFAULT as KEEP
from .retention import Keep
from .retention import parse as _keep
from .store_url import StoreUrl, is_url
from .targets import NOBODY, Targets
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
"""What becomes of a request that no recording answers."""
INTERCEPTS = ("llm", "all")
"""Whose TLS is opened."""
MODES = ("mend", "observe")

_ALONE = ("auto", "known", "off")
"""Words for dialects that stand alone."""

_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


@value
class Settings(MendSettings):
    """`hosts`: globs. `flows`: None is off. `keep`: of these.

    `routes`: the first that takes a request has it.
    `metrics`: who gets them. `intercept`: one of INTERCEPTS. `mode`: one of MODES.
    `replay`: whose recordings answer; None is off. `replay_miss`: one of MISSES.
    """

    hosts: tuple[str, ...] = ()
    flows: Path | StoreUrl | None = None
    keep: Keep = KEEP
    replay: Path | None = None
    replay_miss: str = "fail"
    routes: tuple[Route, ...] = ()
    metrics: Targets = NOBODY
    intercept: str = "llm"
    mode: str = "mend"


def load(options: Mapping[str, str]) -> Settings:
    """The settings of this process: options, keyed without their prefix, variables and files. Raises SettingsError."""
    return checked(precedence.everywhere(options))


def parse(options: Mapping[str, str]) -> Settings:
    """Settings of options and of the file that they name, alone: what was recorded is played so. Raises SettingsError."""
    own = of_json(options["own_dialects"]) if "own_dialects" in options else ()
    return checked(precedence.alone(options), own)


def checked(given: precedence.Layers, recorded_own: tuple[OwnDialect, ...] = ()) -> Settings:
    """What is said, understood; `recorded_own`: dialects that a recording holds. Raises SettingsError."""
    said, own = given.said, given.own + recorded_own
    return Settings(
        hosts=host_globs(*_of(said["hosts"])),
        dialects=_dialects(*_of(said["dialects"]), [row.name for row in own]),
        flows=recordings_folder(*_of(said["flows"])),
        keep=_keep(*_of(said["keep"])),
        providers=given.providers,
        replay=_replay(*_of(said["replay"])),
        replay_miss=_one_of("way", MISSES, *_of(said["replay_miss"])),
        policy=_one_of("policy", POLICIES, *_of(said["policy"])),
        max_calls=_limit("max_calls", *_of(said["max_calls"])),
        collect_ms=_limit("collect_ms", *_of(said["collect_ms"])),
        max_bytes=_limit("max_bytes", *_of(said["max_bytes"])),
        routes=given.routes,
        metrics=_metrics(*_of(said["metrics"])),
        intercept=_one_of("way", INTERCEPTS, *_of(said["intercept"])),
        mode=_one_of("mode", MODES, *_of(said["mode"])),
        off=_off(*_of(said["off"])),
        strangers=words(said["dialects"].text.lower()) != ["known"],
        own=own,
    )


def recorded(settings: Settings, host: str = "") -> dict[str, str]:
    """What a replay needs: the options that decide what the client gets of a host's answer, as `parse` reads them."""
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
    """Dialects as an option says them: `auto`, `known`, `off`, `kimi_k2,other`."""
    if settings.dialects is None:
        return "auto" if settings.strangers else "known"
    return ",".join(settings.dialects) or "off"


def _of(said: Said) -> tuple[str, str]:
    return said.where, said.text


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
            raise SettingsError(f"{where}: there is no dialect {name!r}{hint}, write auto, known, off, or some of: {known}")
    return names


def _replay(where: str, text: str) -> Path | None:
    if text.lower() in ("", "off"):
        return None
    if is_url(text):
        raise SettingsError(f"{where}: it is a folder of this machine, no URL; what lies in a store is played by: toolmend serve")
    folder = expand(where, text)
    if not os.path.isdir(folder):  # noqa: PTH112  which raises for no name
        raise SettingsError(f"{where}: there is no folder {text!r}, write the name of a folder of recordings, or off")
    return folder


def _one_of(what: str, known: Sequence[str], where: str, text: str) -> str:
    """A word of a list; the first is the default."""
    name = text.lower() or known[0]
    if name not in known:
        raise SettingsError(f"{where}: there is no {what} {text!r}{suggestion(name, known)}, write one of: {', '.join(known)}")
    return name


def _limit(key: str, where: str, text: str) -> int:
    if text and not _NUMBER.fullmatch(text):
        raise SettingsError(f"{where}: {text!r} is no limit, write a whole number above 0, as in {LIMITS[key]}")
    return int(text or LIMITS[key])
