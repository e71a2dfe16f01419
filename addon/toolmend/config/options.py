"""The options `toolmend_*`: declared to mitmproxy, and read as settings.

    mitmdump -s addon/main.py --set toolmend_dialects=kimi_k2 --set toolmend_config=toolmend.toml

What mitmproxy would silently accept is an error here: an unknown name, an option set twice or to nothing, a value in its
config.yaml that is not text. All options are strings, because a wrong value of another type would unload the script
(mitmproxy#8013).
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
    "hosts": "Hosts of LLM APIs in addition to the built-in ones: globs, separated by commas or spaces, as in "
    "'llm.example.com, *.corp.example:8443, localhost:8000'.",
    "dialects": "What to look for in the text of a model: 'auto' (the default), 'known' (the same, without what only unknown "
    "models may write), 'off', or names of dialects, separated by commas, as in 'kimi_k2'.",
    "mode": "'mend' (the default), or 'observe': what would be mended is recorded and reported, and responses pass unchanged; "
    "routes still translate.",
    "off": "Rules and hosts that are left alone, separated by commas, as in 'finish_reason, api.openai.com': a disabled rule "
    "changes nothing, the responses of a disabled host pass unchanged, and are recorded.",
    "flows": "The folder where each LLM request and response is recorded, redacted, or a URL as in 's3://bucket/prefix' (with "
    "toolmend[store]), or 'off'; by default toolmend/flows in the user's data folder.",
    "keep": "How much of the recordings is kept on this machine, and how long: '500MB 14d' (the default), or 'all'.",
    "replay": "A folder of recordings that answer the LLM requests, streamed at their original pace, so that nothing is sent "
    "out; or 'off' (the default).",
    "replay_miss": "For a request without a matching recording: 'fail' (the default: an error that names the nearest one) "
    "or 'forward'.",
    "policy": "For the calls found in a text: 'mixed' (the default: text and calls are streamed as they arrive), 'first' (the "
    "first call ends the response), 'collect' (several calls end it and are sent together), or 'drain' (the text is dropped, "
    "the calls are sent at the end).",
    "max_calls": "For collect: how many calls end the response; 8 by default.",
    "collect_ms": "For collect: how many milliseconds after the first call the response ends; 200 by default.",
    "max_bytes": "For collect and drain: how many bytes of a response are held at most; 65536 by default.",
    "intercept": "Whose TLS is opened: 'llm' (the default: hosts with an LLM API, all others are tunnelled) or 'all'.",
    "metrics": "Where metrics go: an address that Prometheus fetches them from ('127.0.0.1:9464'), 'otel' (spans, sent to "
    "OTEL_EXPORTER_OTLP_ENDPOINT), both, or 'off' (the default).",
    "config": "A TOML file with the same keys, as in hosts = ['llm.example.com'], and with tables [[provider]] and [[route]], "
    "instead of ./toolmend.toml and the user's config.toml; 'off' for none. Variables (TOOLMEND_HOSTS) beat files, options both.",
}

NEEDED = {
    "connection_strategy": ("lazy", "the host that a client calls may not exist"),
    "stream_large_bodies": (None, "what is to be translated must be whole"),
}
"""mitmproxy options that routes and replays require, each with its reason."""


def declare(loader: Loader) -> None:
    """Adds the options when the addon is loaded."""
    for key, text in OPTIONS.items():
        name = f"toolmend_{key}"
        if name in ctx.options.deferred and (wrong := _convert(name)):  # mitmproxy would unload the script for it
            del ctx.options.deferred[name]
            logger.error("%s %s, give it one value, as in --set %s=VALUE", name, wrong, name)
        loader.add_option(name, str, "", text)


def _convert(name: str) -> str:
    """Turns a value set before the option existed into text; returns what is wrong with it."""
    value = ctx.options.deferred[name]
    given = getattr(value, "val", None)  # from --set
    if given is not None:
        return "" if len(given) == 1 else f"is set {len(given)} times" if given else "is set to nothing"
    words = value if isinstance(value, list) else [value]  # from config.yaml
    if not all(isinstance(word, str | int) and not isinstance(word, bool) for word in words):
        return f"is {value!r} in mitmproxy's config.yaml, which is not text"
    ctx.options.deferred[name] = " ".join(map(str, words))
    return ""


def settings(*, files: bool = True) -> Settings:
    """Returns the current settings of options, variables and files, or without the files. Raises exceptions.OptionsError."""
    known = [f"toolmend_{key}" for key in OPTIONS]
    for name in ctx.options.deferred:  # mitmproxy silently keeps unknown names
        similar = name.lower().startswith("toolmend") or get_close_matches(name.lower(), known, n=1, cutoff=0.9)
        if similar and name not in known:
            hint = suggestion(name, known)
            wrong = f"no such option: {name}{hint}, the options are {', '.join(known)}"
            raise exceptions.OptionsError(wrong)  # type: ignore[no-untyped-call]
    with option_errors():
        given = {key: getattr(ctx.options, f"toolmend_{key}") for key in OPTIONS}
        return load(given if files else given | {"config": "off"})


@contextmanager
def option_errors() -> Iterator[None]:
    """Raises a SettingsError as exceptions.OptionsError, which mitmproxy reports."""
    try:
        yield
    except SettingsError as error:
        raise exceptions.OptionsError(str(error)) from None  # type: ignore[no-untyped-call]


def adapt() -> None:
    """Sets the mitmproxy options that routes require, and logs it."""
    for name, (value, why) in NEEDED.items():
        if getattr(ctx.options, name) != value:
            ctx.options.update(**{name: value})  # type: ignore[no-untyped-call]
            logger.info("toolmend: %s is set to %s for the routes: %s", name, value or "off", why)
