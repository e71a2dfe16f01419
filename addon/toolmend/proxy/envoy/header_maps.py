"""Converts between Envoy's header maps and mitmproxy's headers, and computes the changes between two.

    ":method" "POST", ":path" "/v1/messages", "x-api-key" …    ◄─►    http.Headers; method, path, host separately

Only differences are written, so Envoy's own headers, their order and case stay unchanged.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from envoy.config.core.v3.base_pb2 import HeaderMap, HeaderValue, HeaderValueOption  # type: ignore[import-untyped]
from envoy.service.ext_proc.v3.external_processor_pb2 import HeaderMutation  # type: ignore[import-untyped]

type Fields = tuple[tuple[bytes, bytes], ...]
"""Lower-case names, and values."""

CONNECTION = frozenset((b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"))
"""Hop-by-hop headers: Envoy has its own on each side."""

OVERWRITE = HeaderValueOption.OVERWRITE_IF_EXISTS_OR_ADD
APPEND = HeaderValueOption.APPEND_IF_EXISTS_OR_ADD


def read(given: HeaderMap) -> tuple[dict[str, bytes], Fields]:
    """Returns the pseudo-headers by name without the colon, and the other headers."""
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
    """Returns mitmproxy's header fields with lower-case names."""
    return tuple((name.lower(), value) for name, value in fields)


def length_of(fields: Fields) -> int | None:
    """Returns the content-length, or None."""
    length = next((value for name, value in fields if name == b"content-length"), b"")
    return int(length) if length.isdigit() else None


def changes(before: Fields, after: Fields, pseudo: Mapping[str, bytes]) -> HeaderMutation | None:
    """Returns the mutation that turns `before` into `after` and sets these pseudo-headers, or None if nothing changes."""
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
    """Returns a header to set; the first value of a name replaces all earlier ones, the others are appended."""
    action = OVERWRITE if first else APPEND
    return HeaderValueOption(header=HeaderValue(key=name, raw_value=value), append_action=action, keep_empty_value=True)
