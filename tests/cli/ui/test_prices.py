"""prices.py: what an answer cost."""

from pathlib import Path

import pytest

from tests.support.ui import looked_at, root
from toolmend.cli.ui import prices
from toolmend.cli.ui.index import Index

__all__ = ["root"]


def test_a_price_of_the_user_comes_first(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index made with other prices is made again."""
    file = tmp_path / "prices.toml"
    file.write_text('[[price]]\nmodels = ["*kimi*"]\ninput = 1000\noutput = 100_000\n')
    monkeypatch.setenv("TOOLMEND_CONFIG", str(file))
    cache = tmp_path / "index.sqlite3"
    for priced in (True, False):
        prices.user_prices.cache_clear()
        index = Index(cache)
        looked_at(root, index)
        assert (0.51 in {row["cost"] for row in index.rows()}) is priced
        index.close()
        file.write_text("")
    prices.user_prices.cache_clear()
