"""Prints a configuration as YAML with the reason as a comment of each value, or as JSON; checks it by Envoy's own messages.

    Why("5s", "default 200 ms")    ─►    message_timeout: 5s  # default 200 ms

The check covers names and types; `envoy --mode validate` checks the rest.
"""

import io
import re
from importlib import import_module
from typing import Any

from ...core.fastclass import value

TYPES = "type.googleapis.com/"
PROTOS = (
    # modules with the messages that an "@type" names, by package
    "envoy.config.bootstrap.v3.bootstrap",
    "envoy.extensions.access_loggers.stream.v3.stream",
    "envoy.extensions.filters.http.ext_proc.v3.ext_proc",
    "envoy.extensions.filters.http.router.v3.router",
    "envoy.extensions.filters.network.http_connection_manager.v3.http_connection_manager",
    "envoy.extensions.http.early_header_mutation.header_mutation.v3.header_mutation",
    "envoy.extensions.retry.host.previous_hosts.v3.previous_hosts",
    "envoy.extensions.transport_sockets.tls.v3.tls",
    "envoy.extensions.upstreams.http.v3.http_protocol_options",
)
WIDTH = 4096
"""Columns before a line is folded: never, since folded strings are hard to read."""
FLOW = 72
"""Characters of a mapping or list, without reasons in it, that is printed on one line."""

_BARE = re.compile(r"[A-Za-z_/][\w./-]*|[\d.]+s|\d+(\.\d+){3}")
"""Strings that every YAML reader takes for strings without quotes: words, paths, durations, addresses."""
_WORDS = re.compile(r"(y|yes|n|no|on|off|true|false|null)", re.IGNORECASE)


@value
class Why:
    """A value, and the reason for it: one line."""

    value: Any
    text: str


class BootstrapError(ValueError):
    """Envoy's messages do not accept the configuration; the message names the place."""


def plain(value: Any) -> Any:
    """Returns the value without reasons."""
    match value:
        case Why():
            return plain(value.value)
        case dict():
            return {key: plain(one) for key, one in value.items()}
        case list():
            return [plain(one) for one in value]
        case _:
            return value


def check(bootstrap: Any) -> None:
    """Parses a configuration strictly into Envoy's messages.

    Raises:
        BootstrapError: A name or type is wrong.
        ImportError: xds-protos is not installed.
    """
    json_format: Any = import_module("google.protobuf.json_format")  # this and the modules below come with the extra `envoy`
    for module in PROTOS:
        import_module(f"{module}_pb2")
    message = import_module(f"{PROTOS[0]}_pb2").Bootstrap()
    try:
        json_format.ParseDict(plain(bootstrap), message)
    except json_format.ParseError as error:
        raise BootstrapError(str(error)) from None


def yaml(value: Any, head: str = "") -> str:
    """Returns YAML in which each reason is a comment at its first occurrence; `head` is a comment of several lines at the top."""
    from ruamel.yaml import YAML  # noqa: PLC0415  mitmproxy brings it

    writer = YAML()
    writer.width = WIDTH
    writer.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO()
    writer.dump(_commented(value, set()), out)
    return "".join(f"# {line}".rstrip() + "\n" for line in head.splitlines()) + out.getvalue()


def _commented(value: Any, written: set[str]) -> Any:
    from ruamel.yaml.comments import CommentedMap, CommentedSeq  # noqa: PLC0415
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString as Quoted  # noqa: PLC0415

    match value:
        case dict():
            mapping = CommentedMap()
            for key, one in value.items():
                if isinstance(one, Why) and one.text not in written:
                    written.add(one.text)
                    mapping.yaml_add_eol_comment(one.text, key, column=0)
                mapping[key] = _commented(one.value if isinstance(one, Why) else one, written)
            if _short(value, dict):
                mapping.fa.set_flow_style()
            return mapping
        case list():
            sequence = CommentedSeq([_commented(one, written) for one in value])
            if _short(value, list):
                sequence.fa.set_flow_style()
            return sequence
        case Why():
            raise AssertionError("a reason stands in a mapping")
        case str() if _WORDS.fullmatch(value) or not _BARE.fullmatch(value):
            return Quoted(value)
        case _:
            return value


def _short(value: dict[str, Any] | list[Any], kind: type) -> bool:
    """Returns whether a value is printed on one line: without reasons, and without a mapping in a list."""
    if kind is list and any(isinstance(one, dict) for one in value):
        return False
    return plain(value) == value and len(str(value)) <= FLOW
