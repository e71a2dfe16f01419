"""The user's settings: what the `toolmend_*` options and the TOML file say, checked.

    hosts     globs of hosts beside the built-in table: "llm.example.com, *.corp.example:8443"
    dialects  "auto", "off", or names: "kimi_k2"
    flows     the folder for recordings, or "off"
    keep      how much of them is kept, and how long: "500MB 14d", or "all"
    replay    a folder of recordings that answer the LLM requests, or "off"; replay_miss: what becomes of a request that
              none answers, "fail" or "forward"
    policy    "mixed", "first", "collect" or "drain": see transformers/policy.py; its limits are whole numbers:
              max_calls, collect_ms, max_bytes
    metrics   where they go, "127.0.0.1:9464", "otel", both, or "off": see targets.py
    config    a TOML file with these keys, as in  hosts = ["..", ".."]   dialects = "off"   max_calls = 8,  and with
              tables [[provider]] and [[route]]: see provider_tables.py and route_tables.py

Rule of this file: a value that is not understood is an error, never a default; and the error is one sentence that names
the setting, the wrong value, and what is right. An option beats the file, and the file beats the default.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .checks import SettingsError, host_globs, suggestion, words
from .data_folder import data_folder
from .dialects import DIALECTS
from .provider_tables import line_of, profiles
from .providers import Profile
from .retention import DEFAULT as KEEP
from .retention import Keep
from .retention import parse as _keep
from .route_tables import routes
from .routes import Route
from .targets import NOBODY, Targets
from .targets import parse as _metrics

__all__ = [
    "KEYS",
    "LIMITS",
    "OPTIONS",
    "POLICIES",
    "Settings",
    "SettingsError",
    "parse",
    "recorded",
    "spelled",
    "suggestion",
]

POLICIES = ("mixed", "first", "collect", "drain")
MISSES = ("fail", "forward")
"""What becomes of a request that no recording answers."""
LIMITS = {"max_calls": 8, "collect_ms": 200, "max_bytes": 65536}
"""Of a policy, each with its default."""
KEYS = ("hosts", "dialects", "flows", "keep", "replay", "replay_miss", "policy", *LIMITS, "metrics")
"""What the file may hold, beside the tables."""
TABLES = ("provider", "route")
"""Of each the file may hold any number: `[[provider]]`."""
OPTIONS = (*KEYS, "config")
"""The options, without their prefix `toolmend_`."""

_RIGHT = {
    "hosts": '["llm.example.com"]',
    "dialects": '"auto", "off", or ["kimi_k2"]',
    "flows": '"recordings", or "off"',
    "keep": '"500MB 14d", or "all"',
    "replay": '"recordings", or "off"',
    "replay_miss": '"fail", or "forward"',
    "policy": '"mixed", "first", "collect", or "drain"',
    **{name: str(limit) for name, limit in LIMITS.items()},
    "metrics": '"127.0.0.1:9464", "otel", or "off"',
}
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_NO_FOLDER = frozenset({"0", "1", "auto", "disabled", "enabled", "false", "no", "none", "on", "true", "yes"})


@dataclass(frozen=True, slots=True)
class Settings:
    """`hosts`: globs. `dialects`: None is auto, () is off, names are exactly these. `flows`: None is off. `keep`: of these.

    `providers`: the user's profiles, whole; one with the name of a built-in one stands for it.
    `routes`: the first that takes a request has it.
    `metrics`: who gets them.
    `replay`: whose recordings answer; None is off. `replay_miss`: one of MISSES.
    `policy`: one of POLICIES; its limits are of a response, in calls, milliseconds and bytes.
    """

    hosts: tuple[str, ...] = ()
    dialects: tuple[str, ...] | None = None
    flows: Path | None = None
    keep: Keep = KEEP
    providers: tuple[Profile, ...] = ()
    replay: Path | None = None
    replay_miss: str = "fail"
    policy: str = "mixed"
    max_calls: int = LIMITS["max_calls"]
    collect_ms: int = LIMITS["collect_ms"]
    max_bytes: int = LIMITS["max_bytes"]
    routes: tuple[Route, ...] = ()
    metrics: Targets = NOBODY


def parse(values: Mapping[str, str]) -> Settings:
    """Settings from the options, keyed without their prefix; an empty one is not set. Raises SettingsError."""
    config = values.get("config", "").strip()
    given, providers, routes_ = _read(_expand("toolmend_config", config)) if config else ({}, (), ())
    for key in KEYS:
        text = values.get(key, "").strip()
        if text or key not in given:
            given[key] = (f"toolmend_{key}", text)
    return Settings(
        host_globs(*given["hosts"]),
        _dialects(*given["dialects"]),
        _flows(*given["flows"]),
        _keep(*given["keep"]),
        providers,
        replay=_replay(*given["replay"]),
        replay_miss=_one_of("way", MISSES, *given["replay_miss"]),
        policy=_one_of("policy", POLICIES, *given["policy"]),
        max_calls=_limit("max_calls", *given["max_calls"]),
        collect_ms=_limit("collect_ms", *given["collect_ms"]),
        max_bytes=_limit("max_bytes", *given["max_bytes"]),
        routes=routes_,
        metrics=_metrics(*given["metrics"]),
    )


def recorded(settings: Settings) -> dict[str, str]:
    """What a replay needs: the options that decide what the client gets, as `parse` reads them."""
    options = {"dialects": spelled(settings.dialects)}
    if settings.policy != "mixed":
        options |= {name: str(getattr(settings, name)) for name in ("policy", *LIMITS)}
    return options


def spelled(dialects: tuple[str, ...] | None) -> str:
    """Dialects as an option says them: `auto`, `off`, `kimi_k2,other`."""
    return "auto" if dialects is None else ",".join(dialects) or "off"


def _dialects(where: str, text: str) -> tuple[str, ...] | None:
    names = tuple(dict.fromkeys(word.lower() for word in words(text)))
    if names in ((), ("auto",)):
        return None
    if names == ("off",):
        return ()
    for name in names:
        if name in ("auto", "off"):
            raise SettingsError(f"{where}: {name!r} stands alone, write either {name} or names of dialects")
        if name not in DIALECTS:
            known = ", ".join(DIALECTS)
            hint = suggestion(name, [*DIALECTS, "auto", "off"])
            raise SettingsError(f"{where}: there is no dialect {name!r}{hint}, write auto, off, or some of: {known}")
    return names


def _flows(where: str, text: str) -> Path | None:
    if text.lower() == "off":
        return None
    if text.lower() in _NO_FOLDER:
        right = f"write off, or ./{text} for a folder of that name"
        raise SettingsError(f"{where}: {text!r} is neither off nor a folder, {right}")
    folder = _expand(where, text) if text else data_folder() / "flows"
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{where}: {text!r} is a file, write the name of a folder, or off")
    return folder


def _replay(where: str, text: str) -> Path | None:
    if text.lower() in ("", "off"):
        return None
    folder = _expand(where, text)
    if not folder.is_dir():
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


def _expand(where: str, text: str) -> Path:
    if "\0" in text:
        raise SettingsError(f"{where}: {text!r} holds a NUL character, write a path without it")
    try:
        return Path(text).expanduser()
    except RuntimeError:  # ~nobody
        raise SettingsError(f"{where}: the home folder in {text!r} is not known, write the whole path") from None


def _read(path: Path) -> tuple[dict[str, tuple[str, str]], tuple[Profile, ...], tuple[Route, ...]]:
    """What a file says: for each key, where it stands and its value as an option would say it; and its tables."""
    try:
        source = path.read_text(encoding="utf-8")
        table = tomllib.loads(source)
    except FileNotFoundError:
        raise SettingsError(f"toolmend_config: there is no file {str(path)!r}, write the path of a TOML file") from None
    except OSError as error:
        wrong = f"{str(path)!r} cannot be read ({error.strerror or error})"
        raise SettingsError(f"toolmend_config: {wrong}, write the path of a TOML file") from None
    except UnicodeDecodeError:
        raise SettingsError(f"toolmend_config: {str(path)!r} is not UTF-8, save it as a UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"toolmend_config: {str(path)!r} is no TOML, correct it: {error}") from None
    providers = profiles(str(path), source, table.pop("provider", []))
    routes_ = routes(path, source, table.pop("route", []))
    found = {}
    for key, value in table.items():
        where = f"{path}:{line_of(key, source)}: {key}"
        if key not in KEYS:
            known = (*KEYS, *TABLES)
            hint = suggestion(key.removeprefix("toolmend_"), known)
            raise SettingsError(f"{where} is no setting{hint}, write one of: {', '.join(known)}")
        found[key] = (where, _text(where, key, value, path))
    return found, providers, routes_


def _text(where: str, key: str, value: object, path: Path) -> str:
    match key, value:
        case ("flows" | "replay"), ("" | "off"):
            return str(value)
        case ("flows" | "replay"), str():
            return str(path.parent / _expand(where, value))  # from the file's folder, not from where we are
        case (("dialects" | "keep" | "metrics" | "policy" | "replay_miss"), str()):
            return value
        case str(), int() if key in LIMITS and not isinstance(value, bool):
            return str(value)
        case (("hosts" | "dialects"), list()):
            words = [word for word in value if isinstance(word, str)]
            if len(words) == len(value) and (words or key == "hosts"):
                return " ".join(words)
    raise SettingsError(f"{where}: {value!r} is not understood, write {key} = {_RIGHT[key]}")
