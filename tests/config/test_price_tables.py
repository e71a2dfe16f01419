"""The tables `[[price]]`: what they mean, and which errors they raise."""

import re
from pathlib import Path

import pytest

from toolmend.config.checks import SettingsError
from toolmend.config.config_file import read
from toolmend.config.config_places import ConfigPlace
from toolmend.config.price_tables import Price

RIGHT = """
[[price]]
models = ["GLM-4.6*"]
input = 0.6
output = 2

[[price]]
models = ["glm-*"]
hosts = ["*.example.com"]
input = 1
output = 4
cached = 0.1
cache_write = 1.25
"""


def prices(tmp_path: Path, text: str) -> tuple[Price, ...]:
    path = tmp_path / "toolmend.toml"
    path.write_text(text)
    return read(ConfigPlace(path, "toolmend_config")).prices


def test_prices_are_read(tmp_path: Path) -> None:
    first, second = prices(tmp_path, RIGHT)
    assert first == Price(("glm-4.6*",), (), 0.6, 2.0, 0.6, 0.6)
    assert second == Price(("glm-*",), ("*.example.com",), 1.0, 4.0, 0.1, 1.25)
    assert [price.fits("glm-4.6-air", "api.z.ai") for price in (first, second)] == [True, False]
    assert [price.fits("GLM-5", "llm.example.com") for price in (first, second)] == [False, True]


def test_cached_input_has_its_own_price(tmp_path: Path) -> None:
    _, price = prices(tmp_path, RIGHT)
    usage = {"input_tokens": 1000, "output_tokens": 100, "cached_tokens": 600, "cache_write_tokens": 300}
    assert price.cost(usage) == pytest.approx((100 * 1 + 600 * 0.1 + 300 * 1.25 + 100 * 4) / 1e6)
    assert price.cost({"output_tokens": 1_000_000}) == 4.0


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("price = 5", ":1: price: 5 is not a list of tables"),
        ("[[price]]\ninput = 1\noutput = 1", ':1: price: models is missing, write models = ["glm-4.6*"]'),
        ('[[price]]\nmodels = ["a"]\ninput = 1', ":1: price: output is missing"),
        ('[[price]]\nmodels = ["a"]\ninput = -1\noutput = 1', ":3: input: -1 is not understood"),
        ('[[price]]\nmodels = ["a"]\ninput = true\noutput = 1', ":3: input: True is not understood"),
        ('[[price]]\nmodels = ["a"]\ninput = nan\noutput = 1', ":3: input: nan is not understood"),
        ('[[price]]\nmodels = "a"\ninput = 1\noutput = 1', ":2: models: 'a' is not understood"),
        ('[[price]]\nmodels = ["a"]\ninputs = 1\noutput = 1', ":3: inputs is not a field of a price (did you mean input?)"),
    ],
)
def test_wrong_prices_name_their_line(tmp_path: Path, text: str, wrong: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(wrong)):
        prices(tmp_path, text)
