"""The `[[route]]` tables of a settings file, as routes.

    [[route]]
    from = "https://api.anthropic.com/v1/messages"          # what the client calls; globs, and the path may be omitted
    model = "claude-*"                                      # a glob for the model in the request; by default any
    to = "https://openrouter.ai/api/v1/chat/completions"    # the upstream; its path decides the API,
    api = "chat"                                            # or else this does: chat, messages or responses
    use_model = "moonshotai/kimi-k2.5"                      # by default the client's model
    key = "env:OPENROUTER_API_KEY"                          # or "file:PATH", a file that only its owner can read
    tools = "prompt"                                        # or "native", the default: the model has tool calls
    template = "tools.txt"                                  # with "prompt": how the tools are described to the model
    learn = false                                           # a refused request is not changed and sent again

Unknown content is an error with its line. No error quotes a key, even in a wrong place.
"""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import SplitResult, urlsplit

from ..providers.routes import APIS, PORTS, Api, Origin, Route, api_of
from ..requests.prompted import DEFAULT, check
from ..secrets.redactor import REDACTED, Redactor
from .checks import SettingsError, suggestion
from .provider_tables import line_of

KEY_LIMIT = 16 * 1024
"""Characters of a key: tokens of identity providers have a few KiB, and servers refuse headers over 16 KiB."""

TEMPLATE_LIMIT = 1024 * 1024
"""Bytes of a template: a prompt cannot be longer either."""

_RIGHT = {
    "from": '"https://api.anthropic.com/v1/messages"',
    "model": '"claude-*"',
    "to": '"https://openrouter.ai/api/v1/chat/completions"',
    "api": '"chat", "messages" or "responses"',
    "use_model": '"moonshotai/kimi-k2.5"',
    "key": '"env:OPENROUTER_API_KEY" or "file:PATH"',
    "tools": '"native" or "prompt"',
    "template": '"tools.txt"',
    "learn": "true or false",
}
_HEAD = re.compile(r"""\s*\[\[\s*["']?route["']?\s*\]\]""")
_FROM = re.compile(r"(?:(https?)://)?(\[[0-9a-f:.]+\]|[\w*?.-]+)(?::(\d{1,5}))?(/[!-~]*)?", re.IGNORECASE | re.ASCII)
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?|[0-9a-f:.]*:[0-9a-f:.]*")
_VISIBLE = re.compile(r"[!-~]+")


def routes(file: Path, source: str, tables: Any) -> tuple[Route, ...]:
    """Returns the routes of the `route` value in a file. Raises SettingsError."""
    if not (isinstance(tables, list) and all(isinstance(fields, dict) for fields in tables)):
        where = f"{file}:{line_of('route', source)}: route"  # the value is not quoted: it may be a key
        raise SettingsError(f"{where}: it is not a list of tables, write [[route]] and its fields below")
    heads = [number for number, line in enumerate(source.splitlines(), 1) if _HEAD.match(line)]
    if len(heads) != len(tables):  # in another TOML notation
        heads = [line_of("route", source)] * len(tables)
    found: list[Route] = []
    for fields, head in zip(tables, heads, strict=True):
        lines = {key: f"{file}:{line_of(key, source, head)}: {key}" for key in (*_RIGHT, *fields)}
        route = _route(f"{file}:{head}", lines, fields, file.parent)
        for other in found:
            if other.source == route.source and other.model in ("*", route.model):
                raise SettingsError(
                    f"{route.where}: route: it is never reached, the one at {other.where} takes all it could; "
                    "put the narrower one first"
                )
        found.append(route)
    return tuple(found)


def _route(where: str, lines: Mapping[str, str], fields: Mapping[str, object], folder: Path) -> Route:
    given: dict[str, str] = {}
    for key, value in fields.items():
        if key not in _RIGHT:
            right = f"write some of: {', '.join(_RIGHT)}"
            raise SettingsError(f"{lines[key]} is not a field of a route{suggestion(key, _RIGHT)}, {right}")
        if key == "learn" and isinstance(value, bool):
            continue
        if key == "learn" or not isinstance(value, str) or not value.strip():
            shown = "it" if key == "key" else repr(value)
            raise SettingsError(f"{lines[key]}: {shown} is not understood, write {key} = {_RIGHT[key]}")
        given[key] = value.strip()
    for key in ("from", "to"):
        if key not in given:
            raise SettingsError(f"{where}: route: it has no {key}, write {key} = {_RIGHT[key]}")
    for key, allowed in (("api", APIS), ("tools", ("native", "prompt"))):
        if given.get(key, allowed[0]) not in allowed:
            wrong = f"{given[key]!r} is not understood{suggestion(given[key], allowed)}"
            raise SettingsError(f"{lines[key]}: {wrong}, write {key} = {_RIGHT[key]}")
    scheme, host, port, path, client = _from(lines["from"], given["from"])
    to, to_path = _to(lines["to"], given["to"])
    upstream = given.get("api") or api_of(to_path, to.netloc) or api_of(to_path)
    if not upstream:
        wrong = f"the path of {given['to']!r} does not determine the API"
        raise SettingsError(f"{lines['to']}: {wrong}, write the whole path, as in /v1/chat/completions, or api = {_RIGHT['api']}")
    return Route(
        where,
        given["from"],
        given["to"],
        scheme,
        host,
        port,
        path,
        client,
        to,
        to_path,
        next(api for api in APIS if api == upstream),
        model=given.get("model", "*").lower(),
        use_model=_use_model(lines["use_model"], given.get("use_model", "")),
        key_from=given.get("key", ""),
        key=_key(lines["key"], given["key"], folder) if "key" in given else "",
        template=_template(lines, given, folder),
        learn=fields.get("learn") is not False,
    )


def _from(where: str, text: str) -> tuple[str, str, int, str, Api | Literal[""]]:
    found = _FROM.fullmatch(text)
    if not found or int(found[3] or 1) not in range(1, 65536) or "?" in (found[4] or ""):
        raise SettingsError(f"{where}: {_unsecret(text)} is not a URL with globs, write from = {_RIGHT['from']}")
    scheme, host = (found[1] or "").lower(), found[2].lower().rstrip(".")
    port = int(found[3] or PORTS.get(scheme, 0))
    path = (found[4] or "").rstrip("/") or "*"
    client = api_of(path, host) or api_of(path)
    if not client and "*" not in path:
        wrong = f"the path of {text!r} belongs to no API that can be routed"
        raise SettingsError(f"{where}: {wrong}, write from = {_RIGHT['from']}, or the host alone")
    return scheme, host.strip("[]"), port, path, "" if path == "*" else client or ""


def _to(where: str, text: str) -> tuple[Origin, str]:
    read = read_url(text)
    if not read:
        raise SettingsError(f"{where}: {_unsecret(text)} is not a URL, write to = {_RIGHT['to']}")
    origin, url = read
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    if url.username is not None or REDACTED in Redactor(()).path(path):
        raise SettingsError(f"{where}: the URL contains a key, remove it and write key = {_RIGHT['key']}")
    return origin, path


def read_url(text: str) -> tuple[Origin, SplitResult] | None:
    """Returns origin and parts of an absolute URL without globs; None for anything else."""
    try:
        url = urlsplit(text)
        host, port = url.hostname or "", url.port
    except ValueError:  # an invalid port or address
        return None
    right = url.scheme in PORTS and _HOST.fullmatch(host) and port != 0 and _VISIBLE.fullmatch(text) and not url.fragment
    return (Origin(url.scheme, host, port or PORTS[url.scheme]), url) if right else None


def _unsecret(text: str) -> str:
    """Returns the wrong value as an error may show it."""
    return "it" if "@" in text or Redactor(()).path(text) != text else repr(text)


def _use_model(where: str, text: str) -> str:
    if any(not char.isprintable() for char in text):
        raise SettingsError(f"{where}: {text!r} contains unprintable characters, write use_model = {_RIGHT['use_model']}")
    return text


def _key(where: str, text: str, folder: Path) -> str:
    """Returns the key itself."""
    kind, _, name = text.partition(":")
    if kind == "env" and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        key = os.environ.get(name, "")
        if not key.strip():
            raise SettingsError(f"{where}: the variable {name} is not set, export {name} before the proxy starts")
    elif kind == "file" and name.strip():
        key = _key_file(where, folder / Path(name.strip()).expanduser())
    else:
        raise SettingsError(f"{where}: a key is never written here itself, write key = {_RIGHT['key']}")
    key = key.strip()
    if not _VISIBLE.fullmatch(key) or len(key) > KEY_LIMIT:
        raise SettingsError(f"{where}: {text} is not a key: a key is one word of at most {KEY_LIMIT} visible ASCII characters")
    return key


def _key_file(where: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            about = os.fstat(file.fileno())
            if os.name == "posix" and about.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise SettingsError(f"{where}: others can read {str(path)!r}, do: chmod 600 {path}")
            return file.read(KEY_LIMIT * 2).decode()
    except OSError as error:
        wrong = f"{str(path)!r} cannot be read ({error.strerror or error})"
        raise SettingsError(f"{where}: {wrong}, write the path of a file") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{where}: {str(path)!r} is not text, write only the key into it") from None


def _template(lines: Mapping[str, str], given: Mapping[str, str], folder: Path) -> str:
    if given.get("tools") != "prompt":
        if "template" not in given:
            return ""
        raise SettingsError(f'{lines["template"]}: a template is for prompted tools only, write tools = "prompt", too')
    if "template" not in given:
        return DEFAULT
    path = folder / Path(given["template"]).expanduser()
    try:
        with path.open("rb") as file:
            text = file.read(TEMPLATE_LIMIT).decode()
        check(text)
    except (OSError, ValueError) as error:
        reason = (error.strerror or error) if isinstance(error, OSError) else error
        raise SettingsError(f"{lines['template']}: {str(path)!r} is not a template: {reason}") from None
    return text
