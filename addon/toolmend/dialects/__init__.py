"""The dialects, listed. A new one is a file beside this one and a line here.

Where two begin with the same token, they are tried in this order; what follows the token decides.
"""

from collections.abc import Mapping, Sequence

from .anthropic import ANTHROPIC, CLAUDE
from .apertus import APERTUS
from .call_record import CALL_RECORD
from .cohere import COHERE, COHERE_ACTION
from .deepseek_v3 import DEEPSEEK_V3
from .dialect import Dialect
from .dots import DOTS
from .dsml import DSML
from .gemma import FUNCTIONGEMMA, GEMINI, GEMMA4, GEMMA_HEADLESS, GEMMA_STRIPPED
from .gigachat import GIGACHAT
from .glm import GLM
from .granite import GRANITE
from .grok import GROK
from .harmony import HARMONY, HARMONY_RECIPIENT, HARMONY_STRIPPED
from .hermes import HERMES, HERMES_OPENERLESS
from .hunyuan import HUNYUAN
from .inkling import INKLING
from .internlm import INTERNLM
from .jamba import JAMBA
from .k2_horizon import K2_HORIZON
from .kimi_k2 import KIMI_K2
from .kimi_k3 import KIMI_K3
from .llama import LLAMA
from .longcat import LONGCAT
from .minicpm import MINICPM
from .minimax_arrow import MINIMAX_ARROW
from .minimax_m2 import MINIMAX_INVOKE, MINIMAX_M2
from .minimax_m3 import MINIMAX_M3
from .mistral import MISTRAL
from .muse import MUSE
from .nemotron import NEMOTRON
from .open_json import FENCE, JSON_ARRAY, JSON_OBJECT, JSON_TOOLS
from .phi import PHI
from .plamo3 import PLAMO3
from .python_list import LFM2, LLAMA_PYTHON, OLMO3, PYTHON_LIST
from .qwen3_coder import QWEN3_CODER, QWEN3_CUT, QWEN3_NAMED
from .reasoning_tags import reasoning_tags
from .seed_oss import SEED_OSS
from .step3 import STEP3
from .tool_code import TOOL_CODE
from .xml_call import XML_CALL, XML_MISSPELT

__all__ = ["DIALECTS", "OPEN_JSON", "REASONING_TAGS", "STRICT", "Dialect"]

REASONING_TAGS = reasoning_tags()
"""No way to call, but named and read like one."""

OPEN_JSON: Sequence[Dialect] = (JSON_ARRAY, JSON_OBJECT, FENCE)
"""What a model writes that was asked in its prompt to write JSON."""

STRICT: Sequence[Dialect] = (XML_CALL, MINIMAX_ARROW)
"""What any model may write that misses its own markup: so strict that no profile has to expect it."""

DIALECTS: Mapping[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        DSML,
        KIMI_K2,
        QWEN3_CODER,
        QWEN3_NAMED,
        QWEN3_CUT,
        HERMES,
        HERMES_OPENERLESS,
        LONGCAT,
        SEED_OSS,
        MINIMAX_M2,
        MINIMAX_INVOKE,
        MINIMAX_ARROW,
        ANTHROPIC,
        CLAUDE,
        MINIMAX_M3,
        HARMONY,
        HARMONY_STRIPPED,
        HARMONY_RECIPIENT,
        GLM,
        DEEPSEEK_V3,
        MISTRAL,
        LLAMA,
        KIMI_K3,
        GRANITE,
        NEMOTRON,
        PHI,
        INTERNLM,
        HUNYUAN,
        JAMBA,
        STEP3,
        COHERE,
        COHERE_ACTION,
        APERTUS,
        PLAMO3,
        INKLING,
        MINICPM,
        GIGACHAT,
        DOTS,
        MUSE,
        K2_HORIZON,
        GEMMA4,
        FUNCTIONGEMMA,
        LLAMA_PYTHON,
        OLMO3,
        LFM2,
        PYTHON_LIST,
        GEMINI,
        TOOL_CODE,
        CALL_RECORD,
        GROK,
        GEMMA_STRIPPED,
        GEMMA_HEADLESS,
        JSON_ARRAY,
        JSON_OBJECT,
        JSON_TOOLS,
        FENCE,
        XML_CALL,
        XML_MISSPELT,
    )
}
