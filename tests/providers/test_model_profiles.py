"""Which profile a model or a host gets, and what is armed with it."""

import pytest

from tests.support.streams import stream, tool
from toolmend.config.settings import Settings
from toolmend.dialects import DIALECTS
from toolmend.pipeline.dialect_choice import armed
from toolmend.pipeline.pipeline import Pipeline
from toolmend.providers.model_profiles import MAX_MODEL, PROFILES, REASONING_HOSTS, Profile, find, profile_for, table

MODELS = {
    # as documented
    "deepseek": """deepseek/deepseek-r1 deepseek-chat DeepSeek-V3.2 deepseek-ai/DeepSeek-R1-Distill-Qwen-32B
        deepseek.r1-v1:0 deepseek/deepseek-r1-0528-qwen3-8b deepseek-r1-distill-llama-70b
        Pro/deepseek-ai/DeepSeek-R1 perplexity/r1-1776 microsoft/mai-ds-r1:free
        accounts/fireworks/models/deepseek-v3p1""",
    "qwen": """qwen/qwen3-coder-480b qwen3-coder-plus Qwen/Qwen3-8B qwen/anything qwq-32b qwen3-235b-a22b-thinking-2507
        deepseek-r1-distill-qwen-7b hf.co/unsloth/Qwen3-30B-A3B-GGUF:Q4_K_M /models/qwen3-8b/snapshots/0f1e2d
        @cf/qwen/qwq /models/Qwen3-8B/ qwen.qwen3-coder-480b-a35b-v1:0 qwen2.5-72b""",
    "kimi": """moonshot/kimi-k2 moonshotai/whatever moonshotai/Kimi-K2-Instruct kimi-k2-instruct KIMI-K2 k2 k2.5 k2p5
        k2-thinking k2-0905-preview my-k2-instruct hf:moonshotai/Kimi-K2.5 openrouter/moonshotai/latest kimi-k2-think
        accounts/fireworks/models/kimi-k2p6 moonshotai.kimi-k2-thinking moonshot-v1-128k kimi-qwen-deepseek
        kimi-for-coding moonshot/a-qwen""",
    "gpt": "gpt-4 gpt-4.1-mini gpt-5.3-codex-spark openai/gpt-5 codex-mini-latest",
    "grok": "grok-4 x-ai/grok-code-fast-1",
    "standard": """claude-3-opus o3
        claude-opus-4-8 ollama/my-model mk2 yak2 phind dolphin step nova-pro reka-flash""",
    # the rest of the arming table
    "k2-horizon": """k2-horizon llm360/k2-v2-instruct LLM360/K2-Think mbzuai-ifm/k2-think-v2 k2-think:free
        k2-horizon-32b""",
    "qwen2.5-coder": """qwen2.5-coder:32b qwen/qwen-2.5-coder-32b-instruct Qwen/Qwen2.5-Coder-7B qwen2p5-coder-32b
        qwen-coder-turbo mlx-community--qwen2.5-coder-7b""",
    "hermes": """nousresearch/hermes-4-405b hermes-3-llama-3.1-8b nous-hermes-2-mixtral DeepHermes-3-Mistral-24B
        nanbeige4.1-3b""",
    "step": "step-3.5-flash stepfun/step-3.7 stepfun-ai/step3 step3",
    "mimo": "mimo-v2-flash xiaomi/mimo-v2.5-pro XiaomiMiMo/MiMo-7B-RL",
    "nemotron": "nvidia/nemotron-3-nano-30b llama-3.3-nemotron-super-49b nemotron-3-super:cloud",
    "gpt-oss": "openai/gpt-oss-120b gpt-oss:20b openai.gpt-oss-120b-1:0",
    "glm": """glm-4.6 z-ai/glm-4.5-air zai-org/GLM-4.7 zai/x z-ai/y zai.glm-5 cerebras/zai-glm-4.7 ling3-1t
        spark2.5 poolside/p""",
    "minimax": "minimax/minimax-m2 MiniMaxAI/MiniMax-M3 minimax-m2.5",
    "seed": "seed-oss-36b ByteDance-Seed/Seed-OSS-36B-Instruct doubao-seed-1.6 seed-1.8",
    "granite": "granite3.3:8b ibm-granite/granite-4.0-h-small granite-20b-functioncalling",
    "xlam": "Salesforce/Llama-xLAM-2-8b-fc-r xlam:7b",
    "mistral": """mistralai/Mistral-Small-3.2 mistral-large-latest ministral-8b devstral-small-2507 magistral-medium
        codestral-latest mixtral-8x7b mistral.mistral-large-2407-v1:0""",
    "gemma": "gemma3:27b google/gemma-4-31b-it functiongemma-270m",
    "phi": "phi4-mini microsoft/phi-4-reasoning Phi-3.5-mini-instruct",
    "internlm": "internlm/internlm2_5-7b-chat intern-s1",
    "jamba": "ai21/jamba-large-1.7 AI21-Jamba-Reasoning-3B",
    "hunyuan": "tencent/hunyuan-a13b-instruct tencent/hy3",
    "cohere": "command-a-03-2025 cohere/command-r-plus cohere.command-r-v1:0",
    "apertus": "swiss-ai/Apertus-8B-Instruct-2509",
    "olmo": "allenai/olmo-3-32b-think",
    "lfm2": "LiquidAI/LFM2-8B-A1B liquid/lfm-2.2-6b lfm2.5-thinking",
    "ernie": "baidu/ernie-4.5-300b-a47b ernie-4.5-turbo",
    "minicpm": "openbmb/MiniCPM4.1-8B minicpm5",
    "gigachat": "ai-sage/GigaChat3-10B-A1.8B gigachat-max",
    "dots": "rednote-hilab/dots.llm1.inst dots.llm2",
    "longcat": "meituan/longcat-flash-chat LongCat-Flash-Thinking",
    "plamo": "pfnet/plamo-3-nict-8b",
    "llama": """meta-llama/Llama-4-Scout llama3.1-8b codellama:7b meta.llama3-1-70b-instruct-v1:0
        Team-ACE/ToolACE-8B""",
    "gemini": "google/gemini-2.5-pro gemini-3.1-pro-preview models/gemini-flash-latest",
    "claude": "anthropic/claude-sonnet-4.5 us.anthropic.claude-opus-4-8-v1:0 openrouter/anthropic/claude-opus-4.8",
}

ARMED = {
    # beside those that cannot be mistaken
    "my-model": "minimax_arrow xml_call",
    "kimi-k2": "minimax_arrow anthropic xml_call",
    "deepseek-chat": "minimax_arrow anthropic xml_call xml_misspelt",
    "qwen3-8b": "qwen3_coder qwen3_named qwen3_cut hermes hermes_openerless minimax_arrow json_tools xml_call",
    "qwen2.5-coder:7b": "qwen3_coder qwen3_named qwen3_cut hermes minimax_arrow json_array json_object json_tools fence xml_call",
    "hermes-4-405b": "qwen3_coder qwen3_named qwen3_cut hermes hermes_openerless minimax_arrow xml_call",
    "step-3.5-flash": "qwen3_coder qwen3_named qwen3_cut hermes hermes_openerless minimax_arrow xml_call",
    "mimo-v2": "qwen3_coder qwen3_named qwen3_cut hermes hermes_openerless minimax_arrow xml_call",
    "nemotron-3": "qwen3_coder qwen3_named qwen3_cut hermes minimax_arrow json_array json_object fence xml_call",
    "glm-4.6": "hermes hermes_openerless minimax_arrow glm xml_call",
    "granite-4": "hermes hermes_openerless minimax_arrow xml_call",
    "llama-3.2-3b": "qwen3_coder hermes minimax_arrow python_list json_array json_object fence xml_call",
    "xlam-7b": "hermes minimax_arrow json_array json_object fence xml_call",
    "devstral": "minimax_arrow json_array json_object fence xml_call",
    "gemma-4": "hermes hermes_openerless minimax_arrow gemini gemma_stripped gemma_headless tool_code xml_call",
    "gemini-3.1-pro": "minimax_arrow gemini tool_code call_record xml_call",
    "gpt-oss:20b": "minimax_arrow harmony_stripped xml_call",
    "minimax-m2": "minimax_invoke minimax_arrow anthropic xml_call",
    "seed-oss": "qwen3_coder qwen3_named qwen3_cut minimax_arrow xml_call",
    "anthropic/claude-opus-4.8": "claude",
    "claude-opus-4-8": "minimax_arrow xml_call",
}

UNOPENED = """deepseek-r1 deepseek/deepseek-r1-0528 deepseek-r1-distill-qwen-7b deepseek.r1-v1:0 qwq-32b minimax-m2
    MiniMaxAI/MiniMax-M2.1 MiniMax-M1-80k qwen3-235b-a22b-thinking-2507 qwen/qwen-plus-2025-07-28:thinking kimi-k2-thinking
    k2-thinking-turbo GLM-Z1-32B-0414 LGAI-EXAONE/EXAONE-Deep-7.8B ernie-4.5-21b-a3b-thinking LongCat-Flash-Thinking"""
MAY_OPEN = """zai-org/GLM-4.5 glm-4.5-air z-ai/glm-4.6:exacto glm-4.7-flash glm-4p6 zai-glm-4.6 glm-5.1 nemotron-3-nano-30b-a3b
    nvidia/NVIDIA-Nemotron-Nano-9B-v2 ByteDance-Seed/Seed-OSS-36B-Instruct stepfun-ai/step3 step-3.5-flash Qwen3.5-397B-A17B
    qwen3.6-27b k2-horizon LLM360/K2-Think intern-s1 Olmo-3-7B-Think ai21labs/AI21-Jamba-Reasoning-3B
    kimi-k3 moonshotai/Kimi-K3"""
OPENED = """deepseek-chat deepseek-v3.1 qwen3-8b qwen3-30b-nothinking qwen3-30b-no-thinking qwen3-30b-non-thinking
    kimi-k2.5 kimi-latest kimi-k2-instruct minimax-m3 glm-4-9b glm-4-32b-0414 glm-4-plus magistral step-2 qwen3-coder-480b
    nvidia/llama-3.1-nemotron-70b-instruct nemotron-mini-4b-instruct olmo-3-7b-instruct chatglm3-6b exaone-4.0
    claude-3-7-sonnet-thinking my-thinking"""
TAGS = """deepseek-r1 qwen3-8b qwq-32b kimi-k2-thinking minimax-m2 glm-4.6 seed-oss-36b magistral-small step-3.5-flash
    nemotron-3-nano hunyuan-a13b ernie-4.5-21b-a3b-thinking granite-4 command-a-03-2025"""

OWN_R1 = Profile("deepseek", ("*deepseek*",), think_tags=True, think_unopened=True)
OWN = Profile("my-vllm", ("my-*", "corp/*"), ("llm.example.com",), ("hermes",), "reasoning", think_tags=True)


def split(models: str) -> list[str]:
    return models.split()


@pytest.mark.parametrize(("model", "name"), [(model, name) for name in MODELS for model in split(MODELS[name])])
def test_models(model: str, name: str) -> None:
    assert profile_for(model, "").name == name


def test_every_profile_is_tried() -> None:
    assert set(MODELS) == {row.name for row in PROFILES}
    assert len({row.name for row in PROFILES}) == len(PROFILES)


def test_dialects_of_the_table_exist() -> None:
    assert {name for row in PROFILES for name in row.dialects} <= set(DIALECTS)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("api.moonshot.ai", "kimi"),
        ("API.MOONSHOT.CN.:443", "kimi"),
        ("dashscope-intl.aliyuncs.com", "qwen"),
        ("coding.dashscope.aliyuncs.com", "qwen"),
        ("api.deepseek.com", "deepseek"),
        ("api.z.ai", "glm"),
        ("api.minimaxi.com", "minimax"),
        ("api.mistral.ai", "mistral"),
        ("api.anthropic.com", "claude"),
        ("openrouter.ai", "standard"),
        ("", "standard"),
    ],
)
def test_a_host_tells_where_the_model_does_not(host: str, name: str) -> None:
    for model in ("claude-sonnet-4-5", "", None, 7):
        assert profile_for(model, host).name == name
    assert profile_for("glm-4.6", host).name == "glm"


@pytest.mark.parametrize(
    ("model", "host", "part", "glob"),
    [
        ("moonshotai/Kimi-K2", "api.z.ai", "model", "moonshotai/*"),
        ("kimi-k2", "api.z.ai", "model", "*kimi*"),
        ("claude", "api.z.ai:443", "host", "api.z.ai"),
        ("claude", "", "", ""),
    ],
)
def test_why(model: str, host: str, part: str, glob: str) -> None:
    assert find(model, host)[1:] == (part, glob)


@pytest.mark.parametrize(("model", "names"), ARMED.items())
def test_what_is_armed(model: str, names: str) -> None:
    profile = profile_for(model, "")
    dialects = armed(None, profile, known=True)
    assert {dialect.name for dialect in dialects if dialect.ambiguous} == set(names.split())
    assert [dialect for dialect in dialects if not dialect.ambiguous] == [
        dialect for dialect in DIALECTS.values() if not dialect.ambiguous
    ]


def test_a_profile_names_what_its_family_writes() -> None:
    names = [dialect.name for dialect in armed(None, profile_for("kimi-k2", "")) if not dialect.ambiguous]
    assert {"kimi_k2", "kimi_k3"} <= set(names)


@pytest.mark.parametrize("names", [(), ("kimi_k2",), ("hermes", "dsml")])
def test_names_that_are_set_are_armed_and_no_others(names: tuple[str, ...]) -> None:
    for model in ("qwen3", "kimi-k2", "gpt-4"):
        assert [dialect.name for dialect in armed(names, profile_for(model, ""))] == list(names)


@pytest.mark.parametrize(
    ("host", "field"),
    [
        ("openrouter.ai", "reasoning"),
        ("api.cerebras.ai:443", "reasoning"),
        ("localhost:11434", "reasoning"),
        ("[::1]:11434", "reasoning"),
        ("localhost:8080", "reasoning_content"),
        ("api.deepseek.com", "reasoning_content"),
        ("", "reasoning_content"),
    ],
)
def test_the_host_tells_the_reasoning_field(host: str, field: str) -> None:
    for model in ("deepseek-r1", "my-model"):
        assert profile_for(model, host).reasoning_field == field
    assert profile_for("my-model", host, [OWN]).reasoning_field == "reasoning"


@pytest.mark.parametrize(("models", "unopened"), [(UNOPENED, True), (MAY_OPEN, True), (OPENED, False)])
def test_whose_text_begins_inside_the_thought(models: str, unopened: bool) -> None:
    for model in split(models):
        profile = profile_for(model, "")
        assert profile.think_unopened is unopened, model
        assert profile.think_always is (models == UNOPENED), model


@pytest.mark.parametrize("host", ["api.z.ai", "openrouter.ai:443", "dashscope-intl.aliyuncs.com", "ollama.com"])
def test_a_host_that_parses_reasoning(host: str) -> None:
    assert not profile_for("deepseek-r1", host).think_unopened
    assert profile_for("deepseek-r1", host, [OWN_R1]).think_unopened, "the user's own word counts more"


def test_who_thinks_in_tags() -> None:
    for model in split(TAGS):
        assert profile_for(model, "").think_tags, model
    for model in split(MODELS["standard"]):
        assert not profile_for(model, "").think_tags, model


@pytest.mark.parametrize(
    ("model", "host", "name"),
    [
        ("my-qwen3", "", "my-vllm"),  # before the built-in ones
        ("corp/kimi-k2", "", "my-vllm"),
        ("kimi-k2", "llm.example.com", "my-vllm"),
        ("kimi-k2", "other.example.com", "kimi"),
        ("o3", "other.example.com", "standard"),
    ],
)
def test_a_profile_of_the_user(model: str, host: str, name: str) -> None:
    assert profile_for(model, host, [OWN]).name == name


def test_the_first_of_two_profiles_of_the_user() -> None:
    other = Profile("other", ("*-x", "my-model"))
    assert profile_for("my-x", "", [OWN, other]).name == "my-vllm"
    assert profile_for("my-x", "", [other, OWN]).name == "other"


def test_a_built_in_profile_is_overridden_where_it_stands() -> None:
    own = Profile("deepseek", ("*deepseek*", "*kimi-ds*"), dialects=("hermes",), think_tags=True, think_unopened=False)
    assert profile_for("kimi-ds", "", [own]).name == "kimi"
    assert profile_for("deepseek-r1", "", [own]) == Profile(
        "deepseek", own.models, (), ("hermes",), "reasoning_content", think_tags=True, think_unopened=False
    )
    added, built_in = table([own, OWN])
    assert added == [OWN]
    assert [row.name for row in built_in] == [row.name for row in PROFILES]


def test_what_unknown_models_get_can_be_overridden() -> None:
    own = [Profile("standard", dialects=("hermes",))]
    assert profile_for("my-model", "", own).dialects == ("hermes",)
    assert profile_for("qwen3", "", own).name == "qwen"


def test_nothing_is_too_odd() -> None:
    for model in ("/", "//", ":", "a" * MAX_MODEL + "kimi", "\0", "[", "qwen" * 10**6, ["qwen"], {}, True):
        for host in ("", ":", "[", "a:b:c", "*"):
            assert profile_for(model, host).name in MODELS
    assert profile_for("a" * MAX_MODEL + "kimi", "").name == "standard"


def test_hosts_are_written_as_they_are_compared() -> None:
    hosts = [*REASONING_HOSTS, *(host for row in PROFILES for host in row.hosts)]
    globs = [glob for row in PROFILES for glob in row.models]
    assert [text for text in (*hosts, *globs) if text != text.lower() or not text.strip()] == []


LEAK = stream(['<tool_call>{"name": "f", "arguments": {}}</tool_call>'])


@pytest.mark.parametrize(
    ("model", "host", "mended"),
    [
        *[("qwen3-8b", "", True), ("my-x", "", True), ("x", "portal.qwen.ai", True), ("x", "", True), (None, "", True)],
        *[("x", "api.openai.com", False), ("gpt-5.5", "api.openai.com", False), ("gpt-5.5", "", True)],
    ],
)
def test_the_pipeline_asks(model: str | None, host: str, mended: bool) -> None:
    request = {"model": model, "tools": [tool("f")]}
    pipeline = Pipeline(request, host=host, settings=Settings(providers=(OWN,)))
    out = pipeline.feed(LEAK) + pipeline.close()
    assert (b'"tool_calls"' in out) is mended
    assert mended or out == LEAK
