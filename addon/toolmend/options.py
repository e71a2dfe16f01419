"""The options `toolmend_*`: declared to mitmproxy, and read as settings.

    mitmdump -s addon/main.py --set toolmend_dialects=kimi_k2 --set toolmend_config=toolmend.toml

Rule of this file: whatever mitmproxy would swallow without a word is said: a name that it does not know, an option that is set
twice or to nothing. All options are texts, as a value of another type that is wrong would unload the script (mitmproxy#8013).
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from mitmproxy import ctx, exceptions
from mitmproxy.addonmanager import Loader

from .settings import Settings, SettingsError, parse, suggestion

logger = logging.getLogger(__name__)

OPTIONS = {
    "hosts": "Hosts of LLM APIs beside those that toolmend knows: globs, separated by commas or spaces, as in "
    "'llm.example.com, *.corp.example:8443, localhost:8000'.",
    "dialects": "What to look for in the text of a model: 'auto' (the default), 'off', or names of dialects, separated "
    "by commas, as in 'kimi_k2'.",
    "flows": "The folder where each LLM request and response is recorded, redacted, or 'off'; by default "
    "toolmend/flows in the user's data folder.",
    "keep": "How much of the recordings is kept, and how long: '500MB 14d' (the default), or 'all'.",
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
    "metrics": "Where metrics go: an address that Prometheus fetches them from ('127.0.0.1:9464'), 'otel' (spans, to where "
    "OTEL_EXPORTER_OTLP_ENDPOINT says), both, or 'off' (the default).",
    "config": "A TOML file with the same keys, as in hosts = ['llm.example.com'], and with tables [[provider]] and [[route]]; "
    "an option that is set beats it.",
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
        given = getattr(ctx.options.deferred.get(name), "val", [""])
        if len(given) != 1:  # mitmproxy would unload the script for it
            del ctx.options.deferred[name]
            wrong = f"is set {len(given)} times" if given else "is set to nothing"
            logger.error("%s %s, give it one value, as in --set %s=VALUE", name, wrong, name)
        loader.add_option(name, str, "", text)


def settings() -> Settings:
    """What the options say now. Raises exceptions.OptionsError."""
    known = [f"toolmend_{key}" for key in OPTIONS]
    for name in ctx.options.deferred:  # mitmproxy keeps names it does not know, and says nothing
        if name.startswith("toolmend") and name not in known:
            hint = suggestion(name, known)
            wrong = f"there is no option {name}{hint}, the options are {', '.join(known)}"
            raise exceptions.OptionsError(wrong)  # type: ignore[no-untyped-call]
    with told():
        return parse({key: getattr(ctx.options, f"toolmend_{key}") for key in OPTIONS})


@contextmanager
def told() -> Iterator[None]:
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
