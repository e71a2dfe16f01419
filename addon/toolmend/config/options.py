"""The options `toolmend_*`: declared to mitmproxy, and read as settings.

    mitmdump -s addon/main.py --set toolmend_dialects=kimi_k2 --set toolmend_config=toolmend.toml

Rule of this file: whatever mitmproxy would swallow without a word is said: a name that it does not know, an option that is set
twice or to nothing, a value of its config.yaml that is no text. All options are texts, as a value of another type that is wrong
would unload the script (mitmproxy#8013).
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches

from mitmproxy import ctx, exceptions
from mitmproxy.addonmanager import Loader

from .settings import Settings, SettingsError, load, suggestion

logger = logging.getLogger(__name__)

OPTIONS = {
    "hosts": "Hosts of LLM APIs beside those that toolmend knows: globs, separated by commas or spaces, as in "
    "'llm.example.com, *.corp.example:8443, localhost:8000'.",
    "dialects": "What to look for in the text of a model: 'auto' (the default), 'known' (the same, without what models "
    "that are not known may write), 'off', or names of dialects, separated by commas, as in 'kimi_k2'.",
    "mode": "'mend' (the default), or 'observe': what would be mended is recorded and told, and answers pass unchanged; a route "
    "translates all the same.",
    "off": "Rules and hosts that are left alone, separated by commas, as in 'finish_reason, api.openai.com': a rule that is off "
    "changes nothing, the answers of a host that is off pass as they come, and are recorded.",
    "flows": "The folder where each LLM request and response is recorded, redacted, or a URL as in 's3://bucket/prefix' (with "
    "toolmend[store]), or 'off'; by default toolmend/flows in the user's data folder.",
    "keep": "How much of the recordings is kept on this machine, and how long: '500MB 14d' (the default), or 'all'.",
    "replay": "A folder of recordings that answer the LLM requests, streamed and in their time, so that nothing goes out; "
    "or 'off' (the default).",
    "replay_miss": "What becomes of a request that no recording answers: 'fail' (the default: an error that names the "
    "nearest) or 'forward'.",
    "policy": "What becomes of the calls found in a text: 'mixed' (the default: text and calls flow as they come), "
    "'first' (the first call ends the answer), 'collect' (some calls do, which go out together), or 'drain' (the text "
    "is suppressed, the calls go out at the end).",
    "max_calls": "For collect: how many calls end the answer; 8 by default.",
    "collect_ms": "For collect: how many milliseconds after the first call the answer ends; 200 by default.",
    "max_bytes": "For collect and drain: how many bytes of a response are held at most; 65536 by default.",
    "intercept": "Whose TLS is opened: 'llm' (the default: hosts that speak an LLM API, all others are tunnelled) or 'all'.",
    "metrics": "Where metrics go: an address that Prometheus fetches them from ('127.0.0.1:9464'), 'otel' (spans, to where "
    "OTEL_EXPORTER_OTLP_ENDPOINT says), both, or 'off' (the default).",
    "config": "A TOML file with the same keys, as in hosts = ['llm.example.com'], and with tables [[provider]] and [[route]], "
    "instead of ./toolmend.toml and the user's config.toml; 'off' for none. Variables (TOOLMEND_HOSTS) beat files, options both.",
}

NEEDED = {
    "connection_strategy": ("lazy", "the host that a client calls may not exist"),
    "stream_large_bodies": (None, "what is to be translated must be whole"),
}
"""Options of mitmproxy's that routes and replays need, each with its reason."""


def declare(loader: Loader) -> None:
    """Adds the options, when the addon is loaded."""
    for key, text in OPTIONS.items():
        name = f"toolmend_{key}"
        if name in ctx.options.deferred and (wrong := _settle(name)):  # mitmproxy would unload the script for it
            del ctx.options.deferred[name]
            logger.error("%s %s, give it one value, as in --set %s=VALUE", name, wrong, name)
        loader.add_option(name, str, "", text)


def _settle(name: str) -> str:
    """Makes a text of what was set before the option was there; returns what is wrong with it."""
    value = ctx.options.deferred[name]
    given = getattr(value, "val", None)  # of --set
    if given is not None:
        return "" if len(given) == 1 else f"is set {len(given)} times" if given else "is set to nothing"
    words = value if isinstance(value, list) else [value]  # of config.yaml
    if not all(isinstance(word, str | int) and not isinstance(word, bool) for word in words):
        return f"is {value!r} in mitmproxy's config.yaml, which is no text"
    ctx.options.deferred[name] = " ".join(map(str, words))
    return ""


def settings(*, files: bool = True) -> Settings:
    """What the options, variables and files say now, or all but the files. Raises exceptions.OptionsError."""
    known = [f"toolmend_{key}" for key in OPTIONS]
    for name in ctx.options.deferred:  # mitmproxy keeps names it does not know, and says nothing
        meant = name.lower().startswith("toolmend") or get_close_matches(name.lower(), known, n=1, cutoff=0.9)
        if meant and name not in known:
            hint = suggestion(name, known)
            wrong = f"there is no option {name}{hint}, the options are {', '.join(known)}"
            raise exceptions.OptionsError(wrong)  # type: ignore[no-untyped-call]
    with option_errors():
        given = {key: getattr(ctx.options, f"toolmend_{key}") for key in OPTIONS}
        return load(given if files else given | {"config": "off"})


@contextmanager
def option_errors() -> Iterator[None]:
    """What is wrong with a setting, as mitmproxy tells it. Raises exceptions.OptionsError."""
    try:
        yield
    except SettingsError as error:
        raise exceptions.OptionsError(str(error)) from None  # type: ignore[no-untyped-call]


def adapt() -> None:
    """Sets what routes need of mitmproxy, and says so."""
    for name, (value, why) in NEEDED.items():
        if getattr(ctx.options, name) != value:
            ctx.options.update(**{name: value})  # type: ignore[no-untyped-call]
            logger.info("toolmend: %s is set to %s for the routes: %s", name, value or "off", why)
