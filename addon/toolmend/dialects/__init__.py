"""The dialects, listed. A new one is a file beside this one and a line here."""

from collections.abc import Mapping

from .dialect import Dialect
from .hermes import HERMES, LONGCAT
from .kimi_k2 import KIMI_K2
from .qwen3_coder import QWEN3_CODER, SEED_OSS

DIALECTS: Mapping[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        KIMI_K2,
        QWEN3_CODER,
        HERMES,
        LONGCAT,
        SEED_OSS,
    )
}
