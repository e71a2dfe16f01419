"""Parses `toolmend_metrics`: where metrics go.

    "127.0.0.1:9464"      Prometheus fetches them there; "9464" and ":9464" also listen on this machine only
    "0.0.0.0:9464"        other machines may fetch them, too
    "otel"                spans are sent to OTEL_EXPORTER_OTLP_ENDPOINT
    "9464 otel"           both
    "off"                 neither; the default

An address that other machines can reach is never a default.
"""


from ..core.fastclass import value
from ..providers.hosts import split_port
from .checks import SettingsError, suggestion, words

LOOPBACK = "127.0.0.1"
RIGHT = "127.0.0.1:9464, otel, both, or off"


@value
class Targets:
    """`address`: host and port that Prometheus fetches from; port 0: any free one."""

    address: tuple[str, int] | None = None
    otel: bool = False


NO_TARGETS = Targets()


def parse(where: str, text: str) -> Targets:
    """Parses the setting. Raises SettingsError."""
    found = [word.lower() for word in words(text)]
    if found == ["off"]:
        found = []
    address = None
    for word in found:
        if word == "otel":
            continue
        if word == "off":
            raise SettingsError(f"{where}: 'off' stands alone, write either off or {RIGHT.removesuffix(', or off')}")
        if address:
            raise SettingsError(f"{where}: {word!r} is a second address, write one")
        address = _address(where, word)
    return Targets(address, "otel" in found)


def _address(where: str, word: str) -> tuple[str, int]:
    host, port = (LOOPBACK, word) if word.isdecimal() else split_port(word)
    if not (port.isascii() and port.isdecimal() and int(port) < 65536):
        raise SettingsError(f"{where}: {word!r} is not an address{suggestion(word, ['otel', 'off'])}, write {RIGHT}")
    return host or LOOPBACK, int(port)
