"""What an upstream takes: told by its API, its host and the model.

Rule of this file: it is a table. The rows that fit apply one after the other, the later over the earlier: what holds for
an API, for a host, for a model wherever it is served, for a model at a host. What is not known of an upstream is what
most take. Sources: the providers' documentation, and what their users report.
"""

from collections.abc import Mapping
from dataclasses import field
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Literal

from ..hosts import fits, split_port
from ..value import replace, value

_FORMATS = "date-time time date duration email hostname ipv4 ipv6 uuid"


@value
class Quirks:
    """One upstream.

    Conversation: `parts`: text may stand in several parts. `images`, `documents`: it takes them. `system_inside`: a system
    message need not be the first. `cache_control` is known. `custom_tools`: freeform tools are known. `tool_name` is a
    regex; `tool_id` a row of tool_ids.STYLES. `formats`: of strings in a schema, those that are known.

    Reasoning of earlier turns: `replay` says where it goes (`details` is OpenRouter's list), empty: nowhere; `details`: an
    upstream that gave such a list, or something beside a call, gets it back. `placeholder` stands for it at calls that have
    none, where that is demanded. `unsigned`: thinking blocks need no signature. `thinking` is how to say how much to think,
    `efforts` the words for it, least first; `can_stop_thinking`.

    Limits: `max_tokens_field`; `max_tokens` is the most that may be asked for, `default_max_tokens` what is where it must
    be said; `stops`, the number of stop sequences, None: any. `temperature`, `top_p`, `top_k`: taken; `one_sampler`: not
    both of the first two; `max_temperature`. `forced_choice`: a tool may be demanded while the model thinks.
    `json_schema`: a response format may have one. `user`, `parallel`, `include_usage`: the field is known. `web_search`:
    the fields that turn it on.
    """

    parts: bool = False
    images: bool = True
    documents: bool = True
    system_inside: bool = False
    cache_control: bool = False
    custom_tools: bool = False
    tool_name: str = r"[A-Za-z][\w-]{0,63}"
    tool_id: str = "any"
    formats: frozenset[str] = frozenset(_FORMATS.split())
    replay: Literal["", "reasoning_content", "reasoning", "details"] = "reasoning_content"
    details: bool = True
    placeholder: str | None = None
    unsigned: bool = False
    thinking: Literal["", "reasoning_effort", "reasoning", "thinking", "enable_thinking"] = "reasoning_effort"
    efforts: tuple[str, ...] = ("low", "medium", "high")
    can_stop_thinking: bool = True
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    max_tokens: int | None = None
    default_max_tokens: int = 8192
    stops: int | None = None
    temperature: bool = True
    max_temperature: float = 2
    top_p: bool = True
    top_k: bool = False
    one_sampler: bool = False
    forced_choice: bool = True
    json_schema: bool = True
    user: bool = True
    parallel: bool = True
    include_usage: bool = True
    web_search: Mapping[str, Any] = field(default_factory=dict)


@value
class _Row:
    """`models` and `hosts` are globs, on the lower-cased model id without its vendor, and on the host."""

    takes: Mapping[str, Any]
    apis: tuple[str, ...] = ("chat",)
    models: tuple[str, ...] = ("*",)
    hosts: tuple[str, ...] = ("*",)


def _row(*, api: str = "chat", models: str = "*", hosts: str = "*", **takes: Any) -> _Row:
    return _Row(takes, tuple(api.split()), tuple(models.split()), tuple(hosts.split()))


_ANY_NAME = r"[A-Za-z0-9_-]{1,64}"
_OPENAI = "api.openai.com *.openai.azure.com *.cognitiveservices.azure.com *.services.ai.azure.com"
_MOONSHOT = "api.moonshot.ai api.moonshot.cn api.kimi.com"
_OPENAI_APIS = "chat responses"
_REASONING_MODELS = "o1* o3* o4* gpt-5* codex-* gpt-6*"

ROWS = (
    # chat, at hosts
    _row(hosts=_OPENAI, parts=True, system_inside=True, custom_tools=True, tool_name=_ANY_NAME, tool_id="40", stops=4,
         replay="", details=False, thinking=""),
    _row(hosts="openrouter.ai", parts=True, system_inside=True, top_k=True, replay="details", thinking="reasoning",
         efforts=("minimal", "low", "medium", "high", "xhigh"), web_search={"plugins": [{"id": "web"}]}),
    _row(hosts="api.deepseek.com", images=False, documents=False, system_inside=True, stops=16, details=False, placeholder="",
         thinking="thinking", efforts=("low", "high", "max"), json_schema=False, parallel=False, user=False),
    _row(hosts=_MOONSHOT, documents=False, system_inside=True, details=False, thinking="thinking", efforts=(), user=False),
    _row(hosts="api.z.ai open.bigmodel.cn", documents=False, details=False, thinking="thinking", efforts=(), json_schema=False,
         parallel=False, stops=1),
    _row(hosts="dashscope*.aliyuncs.com *.dashscope.aliyuncs.com", parts=True, documents=False, cache_control=True,
         top_k=True, details=False, thinking="enable_thinking", web_search={"enable_search": True}),
    # these refuse fields that they do not know
    _row(hosts="api.mistral.ai codestral.mistral.ai", parts=True, tool_id="mistral", replay="", details=False, thinking="",
         user=False, include_usage=False),
    _row(hosts="api.groq.com api.cerebras.ai", documents=False, replay="reasoning", details=False, thinking="", stops=4),
    _row(hosts="*:11434 ollama.com", documents=False, top_k=True, replay="reasoning", details=False, parallel=False),
    _row(hosts="*:8000 *:8080 *:1234", documents=False, top_k=True),
    _row(hosts="generativelanguage.googleapis.com aiplatform.googleapis.com *-aiplatform.googleapis.com", parts=True, stops=5,
         replay=""),
    # responses
    _row(api="responses", parts=True, system_inside=True, custom_tools=True, tool_name=_ANY_NAME, tool_id="64"),
    # models, wherever they are served
    _row(models="*kimi*", tool_id="kimi"),
    _row(api=_OPENAI_APIS, models="*qwen*", system_inside=False),  # its template refuses others (dynamo#10206, inspect_ai#3842)
    _row(api=_OPENAI_APIS, models=_REASONING_MODELS, max_tokens_field="max_completion_tokens", temperature=False, top_p=False,
         stops=0, thinking="reasoning_effort"),
    _row(api=_OPENAI_APIS, models="gpt-5 gpt-5-*", efforts=("minimal", "low", "medium", "high")),
    _row(api=_OPENAI_APIS, models="gpt-5*-chat*", temperature=True, top_p=True, stops=4, thinking=""),
    _row(api=_OPENAI_APIS, models="gpt-5.[1-9]* gpt-6*", efforts=("none", "low", "medium", "high", "xhigh")),
    _row(api=_OPENAI_APIS, models="o1* o3* o4*", can_stop_thinking=False, parallel=False),
    _row(models="*-search-preview*", web_search={"web_search_options": {}}),
    _row(models="*gpt-oss*", thinking="reasoning_effort"),
    # chat: models at hosts
    _row(hosts=_OPENAI, models="gpt-4o*", max_tokens=16384),
    _row(hosts=_OPENAI, models="gpt-4.1*", max_tokens=32768),
    _row(hosts=_OPENAI, models="gpt-4-turbo* gpt-3.5*", max_tokens=4096),
    _row(hosts="api.deepseek.com", models="deepseek-chat", max_tokens=8192),
    _row(hosts="openrouter.ai", max_tokens_field="max_tokens", thinking="reasoning", replay="details"),
    _row(hosts="openrouter.ai", models="claude* gemini*", cache_control=True),
    # thinking, which is on unless turned off: DeepSeek and Kimi then demand the reasoning of calls, and refuse a forced one
    _row(hosts="api.deepseek.com", models="deepseek-reasoner* deepseek-v4* deepseek-pro* deepseek-flash*", forced_choice=False),
    # an empty string counts as missing (pi#4178, llmgateway#2093)
    _row(hosts=_MOONSHOT, models="kimi-k2.[5-9]* kimi-k[3-9]* kimi-k2-thinking* kimi-latest kimi-for-coding*",
         placeholder=" ", forced_choice=False, temperature=False, top_p=False),
    _row(hosts=_MOONSHOT, models="kimi-k2.7-code*", can_stop_thinking=False),
    # messages
    _row(api="messages", tool_name=_ANY_NAME, tool_id="messages", parts=True, cache_control=True, top_k=True,
         max_temperature=1, unsigned=True, efforts=("low", "medium", "high", "xhigh", "max")),
    _row(api="messages", hosts="api.anthropic.com", system_inside=True),
    _row(api="messages", models="*claude*", unsigned=False),
    _row(api="messages", hosts="api.anthropic.com", unsigned=False),
    _row(api="messages", models="claude-3-opus* claude-3-sonnet* claude-3-haiku*", default_max_tokens=4096, max_tokens=4096),
    _row(api="messages", models="claude-3-7* claude-sonnet-4* claude-opus-4-[5-9]* claude-haiku-4*", default_max_tokens=64000),
    _row(api="messages", models="claude-opus-4 claude-opus-4-20* claude-opus-4-[01] claude-opus-4-[01]-*",
         default_max_tokens=32000, max_tokens=32000),
    _row(api="messages", models="claude-opus-4-[1-9]* claude-sonnet-4-5* claude-haiku-4*", one_sampler=True),
    _row(api="messages", efforts=(), models="claude-3* claude-sonnet-4 claude-sonnet-4-[05]* claude-sonnet-4-20* claude-opus-4 "
         "claude-opus-4-[01] claude-opus-4-[01]-* claude-opus-4-20* claude-haiku-4*"),
)


MAX_MODEL = 200
"""Characters of a model's name that are looked at."""


def quirks_for(api: str, host: str, model: str) -> Quirks:
    """What an upstream takes. `host` may have a port, `model` a vendor."""
    return _quirks_for(api, host, model.lower().rpartition("/")[2][:MAX_MODEL])


@lru_cache(64)
def _quirks_for(api: str, host: str, model: str) -> Quirks:
    """A client asks for one model or two, and its user waits."""
    name, port = split_port(host)
    quirks = Quirks()
    for row in ROWS:
        at = "*" in row.hosts or any(fits(name, port, glob) for glob in row.hosts)
        if api in row.apis and at and any(fnmatchcase(model, glob) for glob in row.models):
            quirks = replace(quirks, **row.takes)
    return quirks
