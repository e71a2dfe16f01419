"""What `toolmend_metrics` says: where the metrics go.

    "127.0.0.1:9464"      Prometheus fetches them there; so do "9464" and ":9464", which are of this machine alone
    "0.0.0.0:9464"        other machines may, too
    "otel"                spans go to where OTEL_EXPORTER_OTLP_ENDPOINT says
    "9464 otel"           both
    "off"                 nobody gets anything; the default

Rule of this file: an address that others can reach is never a default.
"""


from ..core.fastclass import value
from ..providers.hosts import split_port
from .checks import SettingsError, suggestion, words

LOOPBACK = "127.0.0.1"
RIGHT = "127.0.0.1:9464, otel, both, or off"


@value
class Targets:
    """`address`: host and port that Prometheus fetches from; port 0 is any that is free."""

    address: tuple[str, int] | None = None
    otel: bool = False


NOBODY = Targets()


def parse(where: str, text: str) -> Targets:
    """What a text says. Raises SettingsError."""
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
        raise SettingsError(f"{where}: {word!r} is no address{suggestion(word, ['otel', 'off'])}, write {RIGHT}")
    return host or LOOPBACK, int(port)
