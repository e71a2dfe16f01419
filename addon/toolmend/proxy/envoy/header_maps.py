"""Envoy's header maps and mitmproxy's headers: the one read as the other, and what is to be changed so that they are alike.

    ":method" "POST", ":path" "/v1/messages", "x-api-key" …    ◄─►    http.Headers; method, path, host beside them

Rule of this file: it writes what differs, and nothing else. What Envoy was not told to change goes on as it came: its own
headers, their order, their case.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from envoy.config.core.v3.base_pb2 import HeaderMap, HeaderValue, HeaderValueOption  # type: ignore[import-untyped]
from envoy.service.ext_proc.v3.external_processor_pb2 import HeaderMutation  # type: ignore[import-untyped]

type Fields = tuple[tuple[bytes, bytes], ...]
"""Names in lower case, and values."""

CONNECTION = frozenset((b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"))
"""Headers of one connection: those are Envoy's, on either side."""

OVERWRITE = HeaderValueOption.OVERWRITE_IF_EXISTS_OR_ADD
APPEND = HeaderValueOption.APPEND_IF_EXISTS_OR_ADD


def read(given: HeaderMap) -> tuple[dict[str, bytes], Fields]:
    """The pseudo-headers by their names, without the colon, and the others."""
    pseudo: dict[str, bytes] = {}
    fields: list[tuple[bytes, bytes]] = []
    for one in given.headers:
        value = one.raw_value or one.value.encode()
        if one.key.startswith(":"):
            pseudo[one.key[1:]] = value
        else:
            fields.append((one.key.lower().encode(), value))
    return pseudo, tuple(fields)


def lower(fields: Iterable[tuple[bytes, bytes]]) -> Fields:
    """The fields of mitmproxy's headers."""
    return tuple((name.lower(), value) for name, value in fields)


def length_of(fields: Fields) -> int | None:
    """Bytes of a body, if that is told before."""
    told = next((value for name, value in fields if name == b"content-length"), b"")
    return int(told) if told.isdigit() else None


def changes(before: Fields, after: Fields, pseudo: Mapping[str, bytes]) -> HeaderMutation | None:
    """What makes `after` of `before`, and sets these pseudo-headers; None: nothing."""
    removed: list[str] = []
    put: list[HeaderValueOption] = []
    if before != after:
        was, new = _by_name(before), _by_name(after)
        removed = [name.decode("latin-1") for name in was if name not in new]
        for name, values in new.items():
            if values != was.get(name):
                put += [_option(name.decode("latin-1"), value, first=not at) for at, value in enumerate(values)]
    put += [_option(f":{name}", value, first=True) for name, value in pseudo.items()]
    return HeaderMutation(set_headers=put, remove_headers=removed) if put or removed else None


def _by_name(fields: Fields) -> dict[bytes, list[bytes]]:
    found: dict[bytes, list[bytes]] = {}
    for name, value in fields:
        if name not in CONNECTION:
            found.setdefault(name, []).append(value)
    return found


def _option(name: str, value: bytes, *, first: bool) -> Any:
    """The first value of a name stands for all that were there."""
    action = OVERWRITE if first else APPEND
    return HeaderValueOption(header=HeaderValue(key=name, raw_value=value), append_action=action, keep_empty_value=True)
