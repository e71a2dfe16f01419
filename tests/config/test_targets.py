"""What `toolmend_metrics` may say."""

import pytest

from toolmend.config.checks import SettingsError
from toolmend.config.targets import Targets, parse

RIGHT = {
    "": Targets(),
    "off": Targets(),
    "OFF": Targets(),
    "9464": Targets(("127.0.0.1", 9464)),
    ":9464": Targets(("127.0.0.1", 9464)),
    "0": Targets(("127.0.0.1", 0)),
    "127.0.0.1:9464": Targets(("127.0.0.1", 9464)),
    "localhost:1": Targets(("localhost", 1)),
    "0.0.0.0:65535": Targets(("0.0.0.0", 65535)),  # noqa: S104  nothing listens
    "[::1]:9464": Targets(("::1", 9464)),
    "otel": Targets(otel=True),
    "Otel, 9464": Targets(("127.0.0.1", 9464), otel=True),
    "127.0.0.1:9464 otel": Targets(("127.0.0.1", 9464), otel=True),
}
LIST = "write 127.0.0.1:9464, otel, both, or off"
WRONG = {
    "on": f"m: 'on' is not an address, {LIST}",
    "hotel": f"m: 'hotel' is not an address (did you mean otel?), {LIST}",
    "localhost": f"m: 'localhost' is not an address, {LIST}",
    "localhost:": f"m: 'localhost:' is not an address, {LIST}",
    "::1": f"m: '::1' is not an address, {LIST}",
    "65536": f"m: '65536' is not an address, {LIST}",
    "-1": f"m: '-1' is not an address, {LIST}",
    "\u0663": f"m: '\u0663' is not an address, {LIST}",
    "http://localhost:1": f"m: 'http://localhost:1' is not an address, {LIST}",
    "1 2": "m: '2' is a second address, write one",
    "otel off": "m: 'off' stands alone, write either off or 127.0.0.1:9464, otel, both",
}


@pytest.mark.parametrize(("text", "targets"), RIGHT.items(), ids=map(repr, RIGHT))
def test_right(text: str, targets: Targets) -> None:
    assert parse("m", text) == targets


@pytest.mark.parametrize(("text", "sentence"), WRONG.items(), ids=map(repr, WRONG))
def test_wrong(text: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse("m", text)
    assert str(caught.value) == sentence
