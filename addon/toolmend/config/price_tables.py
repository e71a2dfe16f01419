"""The tables `[[price]]` of the settings' file: what a model costs, for `toolmend ui`.

    [[price]]
    models = ["glm-4.6*"]           # globs of model ids
    hosts = ["api.z.ai"]            # globs of hosts; by default every host
    input = 0.6                     # US dollars per million tokens
    output = 2.2
    cached = 0.11                   # tokens read from a cache; by default as input
    cache_write = 0.6               # tokens written to a cache; by default as input

The first table that fits counts. An error names the file and the line.
"""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from math import isfinite
from typing import Any

from ..core.fastclass import value
from .checks import SettingsError, host_globs, suggestion
from .provider_tables import line_of

MILLION = 1_000_000
_NUMBERS = ("input", "output", "cached", "cache_write")
_RIGHT = {"models": '["glm-4.6*"]', "hosts": '["api.z.ai"]', **dict.fromkeys(_NUMBERS, "0.6")}
_HEAD = re.compile(r"""\s*\[\[\s*["']?price["']?\s*\]\]""")


@value
class Price:
    """US dollars per million tokens of the models and hosts that the globs name; no hosts are all."""

    models: tuple[str, ...]
    hosts: tuple[str, ...]
    input: float
    output: float
    cached: float
    cache_write: float

    def fits(self, model: str, host: str) -> bool:
        """Whether this is the price of a model at a host."""
        named = any(fnmatchcase(model.lower(), glob) for glob in self.models)
        return named and (not self.hosts or any(fnmatchcase(host.lower(), glob) for glob in self.hosts))

    def cost(self, usage: Mapping[str, int]) -> float:
        """US dollars for the counts of a folded answer's usage, whose input includes what a cache read and wrote."""
        cached, written = usage.get("cached_tokens") or 0, usage.get("cache_write_tokens") or 0
        fresh = max(0, (usage.get("input_tokens") or 0) - cached - written)
        spent = fresh * self.input + cached * self.cached + written * self.cache_write
        return (spent + (usage.get("output_tokens") or 0) * self.output) / MILLION


def prices(file: str, source: str, tables: Any) -> tuple[Price, ...]:
    """The prices that the value of `price` in a file makes. Raises SettingsError."""
    if not (isinstance(tables, list) and all(isinstance(fields, dict) for fields in tables)):
        where = f"{file}:{line_of('price', source)}: price"
        raise SettingsError(f"{where}: {tables!r} is not a list of tables, write [[price]] and its fields below")
    heads = [number for number, line in enumerate(source.splitlines(), 1) if _HEAD.match(line)]
    if len(heads) != len(tables):  # written in another way
        heads = [line_of("price", source)] * len(tables)
    return tuple(_price(file, source, head, fields) for head, fields in zip(heads, tables, strict=True))


def _price(file: str, source: str, head: int, fields: Mapping[str, Any]) -> Price:
    given = {key: _field(f"{file}:{line_of(key, source, head)}: {key}", key, fields[key]) for key in fields}
    for key in ("models", "input", "output"):
        if key not in given:
            raise SettingsError(f"{file}:{head}: price: {key} is missing, write {key} = {_RIGHT[key]}")
    by_default = {"hosts": (), "cached": given["input"], "cache_write": given["input"]}
    return Price(**by_default | given)


def _field(where: str, key: str, given: object) -> Any:
    match given:
        case list() if key in ("models", "hosts") and given and all(isinstance(word, str) and word.strip() for word in given):
            words = tuple(word.strip().lower() for word in given)
            return host_globs(where, " ".join(words)) if key == "hosts" else words
        case int() | float() if key in _NUMBERS and not isinstance(given, bool) and isfinite(given) and given >= 0:
            return float(given)
    if key not in _RIGHT:
        right = f"write some of: {', '.join(_RIGHT)}"
        raise SettingsError(f"{where} is not a field of a price{suggestion(key, _RIGHT)}, {right}")
    raise SettingsError(f"{where}: {given!r} is not understood, write {key} = {_RIGHT[key]}")
