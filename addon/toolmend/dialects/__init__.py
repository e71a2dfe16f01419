"""The dialects, listed. A new one is a file beside this one and a line here."""

from collections.abc import Mapping

from .dialect import Dialect
from .kimi_k2 import KIMI_K2

DIALECTS: Mapping[str, Dialect] = {dialect.name: dialect for dialect in (KIMI_K2,)}
