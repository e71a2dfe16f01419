"""The list of dialects. A new one is a file in families/ and a line here.

Dialects that begin with the same token are tried in this order; the text after the token decides.
"""

from collections.abc import Mapping, Sequence

from .engine.dialect import Dialect
from .families.anthropic import ANTHROPIC, CLAUDE
from .families.apertus import APERTUS
from .families.call_record import CALL_RECORD
from .families.cohere import COHERE, COHERE_ACTION
from .families.deepseek_v3 import DEEPSEEK_V3
from .families.dots import DOTS
from .families.dsml import DSML
from .families.gemma import FUNCTIONGEMMA, GEMINI, GEMMA4, GEMMA_HEADLESS, GEMMA_STRIPPED
from .families.gigachat import GIGACHAT
from .families.glm import GLM
from .families.granite import GRANITE
from .families.grok import GROK
from .families.harmony import HARMONY, HARMONY_RECIPIENT, HARMONY_STRIPPED
from .families.hermes import HERMES, HERMES_OPENERLESS
from .families.hunyuan import HUNYUAN
from .families.inkling import INKLING
from .families.internlm import INTERNLM
from .families.jamba import JAMBA
from .families.k2_horizon import K2_HORIZON
from .families.kimi_k2 import KIMI_K2
from .families.kimi_k3 import KIMI_K3
from .families.llama import LLAMA
from .families.longcat import LONGCAT
from .families.minicpm import MINICPM
from .families.minimax_arrow import MINIMAX_ARROW
from .families.minimax_m2 import MINIMAX_INVOKE, MINIMAX_M2
from .families.minimax_m3 import MINIMAX_M3
from .families.mistral import MISTRAL
from .families.muse import MUSE
from .families.nemotron import NEMOTRON
from .families.open_json import FENCE, JSON_ARRAY, JSON_OBJECT, JSON_TOOLS
from .families.phi import PHI
from .families.plamo3 import PLAMO3
from .families.python_list import LFM2, LLAMA_PYTHON, OLMO3, PYTHON_LIST
from .families.qwen3_coder import QWEN3_CODER, QWEN3_CUT, QWEN3_NAMED
from .families.reasoning_tags import reasoning_tags
from .families.seed_oss import SEED_OSS
from .families.step3 import STEP3
from .families.tool_code import TOOL_CODE
from .families.xml_call import XML_CALL, XML_MISSPELT

__all__ = ["DIALECTS", "OPEN_JSON", "REASONING_TAGS", "STRICT", "Dialect"]

REASONING_TAGS = reasoning_tags()
"""Not a form of calls, but it has a name and is parsed like a dialect."""

OPEN_JSON: Sequence[Dialect] = (JSON_ARRAY, JSON_OBJECT, FENCE)
"""The forms of a model whose prompt asks for JSON (requests/prompted.py)."""

STRICT: Sequence[Dialect] = (XML_CALL, MINIMAX_ARROW)
"""Forms that any model may write in place of its own markup, strict enough to be armed without a profile."""

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
