"""An upstream that refuses what the real ones refuse: a rule a row, with the status and a body of the shape that the host answers in.

    refusal("chat", "api.openai.com", "gpt-5.4", request)   None, or Refused(400, {"error": {"message": …, "param": …}}, rule)

The rows are written from the providers' documentation and from public reports, apart from the tables of the addon: a fact that is
wrong there is found here. A rule is a predicate on the request; `where` limits it to APIs, hosts and models.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from itertools import pairwise
from typing import Any

type Request = Mapping[str, Any]
type Check = Callable[[Request], str]
"""What is wrong, as the message of the error; empty: nothing."""


@dataclass(frozen=True)
class Rule:
    """One row. `where` is "api host model", each a glob or several between `|`; `unless` are globs of models it is not for."""

    name: str
    where: str
    check: Check
    param: str = ""
    unless: str = ""
    status: int = 400

    def holds(self, api: str, host: str, model: str) -> bool:
        for text, globs in zip((api, host, model), self.where.split(), strict=True):
            if not any(fnmatchcase(text, glob) for glob in globs.split("|")):
                return False
        return not any(fnmatchcase(model, glob) for glob in self.unless.split("|"))


@dataclass(frozen=True)
class Refused:
    status: int
    body: Any
    rule: str


# looking into a request


def at(node: Any, path: str) -> Iterator[Any]:
    """The values at a dotted path; `[]` is every entry of a list, `**` any depth."""
    if not path:
        yield node
        return
    name, _, rest = path.replace("[]", ".[]").lstrip(".").partition(".")
    if name == "**":
        yield from at(node, rest)
        children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        for child in children:
            yield from at(child, path)
    elif name == "[]":
        for child in node if isinstance(node, list) else ():
            yield from at(child, rest)
    elif isinstance(node, dict) and name in node:
        yield from at(node[name], rest)


def no(*paths: str) -> Check:
    """The host does not know these."""

    def check(request: Request) -> str:
        return next((f"{path}: Extra inputs are not permitted" for path in paths for _ in at(request, path)), "")

    return check


def only(path: str, *words: Any) -> Check:
    def check(request: Request) -> str:
        wrong = next((value for value in at(request, path) if value not in words), None)
        listed = ", ".join(f"'{word}'" for word in words)
        return "" if wrong is None else f"Unsupported value: '{path}' does not support '{wrong}' with this model. Supported values are: {listed}."

    return check


def at_most(path: str, most: float, least: float = float("-inf")) -> Check:
    def check(request: Request) -> str:
        wrong = [value for value in at(request, path) if isinstance(value, int | float) and not least <= value <= most]
        return f"{path}: {wrong[0]} > {most}, which is the maximum allowed" if wrong else ""

    return check


def fits(path: str, pattern: str) -> Check:
    def check(request: Request) -> str:
        wrong = [value for value in at(request, path) if not (isinstance(value, str) and re.fullmatch(pattern, value))]
        return f"{path}: String should match pattern '{pattern}'" if wrong else ""

    return check


def needs(*paths: str) -> Check:
    def check(request: Request) -> str:
        return next((f"{path}: Field required" for path in paths if not any(True for _ in at(request, path))), "")

    return check


def when(condition: Callable[[Request], object], message: str) -> Check:
    return lambda request: message if condition(request) else ""


def first(request: Request, path: str, default: Any = None) -> Any:
    return next(at(request, path), default)


# Messages


def thinking(request: Request) -> str:
    return str(first(request, "thinking.type", ""))


def forced(request: Request) -> bool:
    choice = request.get("tool_choice")
    if isinstance(choice, dict):
        return choice.get("type") in ("any", "tool", "function", "custom") or choice.get("mode") == "required"
    return choice == "required"


def blocks(request: Request, role: str = "") -> Iterator[tuple[int, dict[str, Any]]]:
    for index, message in enumerate(request["messages"]):
        if role in ("", message["role"]) and isinstance(message["content"], list):
            yield from ((index, block) for block in message["content"])


def blank_text(request: Request) -> str:
    for index, message in enumerate(request["messages"]):
        content = message["content"]
        if not content or (isinstance(content, str) and not content.strip()):
            return f"messages.{index}: text content blocks must contain non-whitespace text"
    texts = [*at(request, "system[].text"), *(text for text in at(request, "messages[].content[].text"))]
    texts += at(request, "messages[].content[].content[].text")
    return "messages: text content blocks must contain non-whitespace text" if any(not text.strip() for text in texts) else ""


def messages_order(request: Request) -> str:
    messages = request["messages"]
    if not messages:
        return "messages: at least one message is required"
    if messages[0]["role"] != "user":
        return 'messages: first message must use the "user" role'
    seen: set[str] = set()
    for index, message in enumerate(messages):
        content = message["content"] if isinstance(message["content"], list) else []
        uses = [block["id"] for block in content if block["type"] == "tool_use"]
        if seen & set(uses) or len(uses) != len(set(uses)):
            return f"messages.{index}: `tool_use` ids must be unique"
        seen |= set(uses)
        results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        before = messages[index - 1]["content"] if index else []
        called = [block["id"] for block in before if isinstance(before, list) and block["type"] == "tool_use"]
        if sorted(results) != sorted(called):
            return f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {called} {results}"
        kinds = [block["type"] == "tool_result" for block in content]
        if sorted(kinds, reverse=True) != kinds:
            return f"messages.{index}: tool_result blocks come before text"
        if uses and index == len(messages) - 1:
            return f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after"
    return ""


def system_place(request: Request) -> str:
    messages = request["messages"]
    for index, message in enumerate(messages):
        if message["role"] != "system":
            continue
        after = messages[index + 1]["role"] if index + 1 < len(messages) else "assistant"
        if not index or messages[index - 1]["role"] != "user" or after != "assistant":
            return f"messages.{index}: role 'system' must follow a user turn"
    return ""


def bare_thinking(request: Request) -> str:
    messages = request["messages"]
    if thinking(request) != "enabled" or len(messages) < 2 or not any(block["type"] == "tool_result" for _, block in blocks({"messages": messages[-1:]})):
        return ""
    before = messages[-2]["content"]
    wrong = before[0]["type"] not in ("thinking", "redacted_thinking")
    return f"messages.{len(messages) - 2}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{before[0]['type']}`" if wrong else ""


def budget(request: Request) -> str:
    tokens = first(request, "thinking.budget_tokens")
    if thinking(request) == "enabled" and not (isinstance(tokens, int) and tokens >= 1024):
        return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
    return "`max_tokens` must be greater than `thinking.budget_tokens`" if tokens and tokens >= request["max_tokens"] else ""


def breakpoints(request: Request) -> str:
    marks = [mark for key in ("tools", "system", "messages", "cache_control") for mark in at({key: request.get(key)}, "**.cache_control") if mark]
    if len(marks) > 4:
        return f"A maximum of 4 blocks with cache_control may be provided. Found {len(marks)}."
    lives = [mark.get("ttl", "5m") for mark in marks]
    if sorted(lives) != lives:
        return "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
    wrong = [block for _, block in blocks(request) if "cache_control" in block and block["type"] not in CACHED]
    return f"cache_control is not permitted on {wrong[0]['type']}" if wrong else ""


CACHED = ("text", "image", "document", "tool_use", "tool_result")
ROOT = ("oneOf", "anyOf", "allOf")


def root_union(path: str, *more: str) -> Check:
    def check(request: Request) -> str:
        for schema in at(request, path):
            if isinstance(schema, dict) and (schema.get("type") != "object" or set(schema) & {*ROOT, *more}):
                return f"{path}: input_schema does not support oneOf, allOf, or anyOf at the top level"
        return ""

    return check


def schemas(node: Any) -> Iterator[dict[str, Any]]:
    """Every schema in a schema: names of properties are none of its keywords."""
    if not isinstance(node, dict):
        return
    yield node
    for key in ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"):
        yield from schemas(node.get(key))
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for inner in node.get(key) or () if isinstance(node.get(key), list) else ():
            yield from schemas(inner)
    for key in ("properties", "$defs", "definitions", "patternProperties"):
        for inner in (node.get(key) or {}).values() if isinstance(node.get(key), dict) else ():
            yield from schemas(inner)


def no_keyword(path: str, *words: str, beside: str = "") -> Check:
    def check(request: Request) -> str:
        for schema in at(request, path):
            for node in schemas(schema):
                found = [word for word in words if word in node and (not beside or beside in node)]
                if found:
                    return f"{path}: For '{node.get('type', 'any')}' type, property '{found[0]}' is not supported"
        return ""

    return check


def valid_schema(path: str) -> Check:
    def check(request: Request) -> str:
        for whole in at(request, path):
            for node in schemas(whole):
                if any(node.get(key) is None for key in ("properties", "items", "required", "type") if key in node):
                    return f"{path}: JSON schema is invalid. It must match JSON Schema draft 2020-12"
                if isinstance(node.get("required"), bool) or isinstance(node.get("exclusiveMinimum"), bool) or isinstance(node.get("items"), list):
                    return f"{path}: JSON schema is invalid. It must match JSON Schema draft 2020-12"
                if "properties" in node and not isinstance(node["properties"], dict):
                    return f"{path}.properties: Input should be a valid dictionary"
        return ""

    return check


def property_names(request: Request) -> str:
    for schema in at(request, "tools[].input_schema"):
        for node in schemas(schema):
            wrong = [name for name in node.get("properties", ()) if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name)]
            if wrong:
                return f"tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$': {wrong[0]}"
    return ""


def closed(path: str) -> Check:
    def check(request: Request) -> str:
        for schema in at(request, path):
            if any(node.get("type") == "object" and node.get("additionalProperties") is not False for node in schemas(schema)):
                return f"{path}: For 'object' type, 'additionalProperties' must be explicitly set to false"
        return ""

    return check


def strict_schema(tool: Mapping[str, Any]) -> str:
    if not tool.get("strict"):
        return ""
    schema = tool.get("parameters") or {}
    for node in schemas(schema):
        if node.get("type") == "object" or "properties" in node:
            if node.get("additionalProperties") is not False:
                return f"Invalid schema for function '{tool['name']}': In context=(), 'additionalProperties' is required to be supplied and to be false."
            if set(node.get("required", ())) != set(node.get("properties", ())):
                return f"Invalid schema for function '{tool['name']}': In context=(), 'required' is required to be supplied and to be an array including every key in properties."
    return ""


def strict_tools(request: Request) -> str:
    tools = [tool.get("function", tool) for tool in request.get("tools", ())]
    return next(filter(None, (strict_schema(tool) for tool in tools)), "")


def strict_format(path: str) -> Check:
    def check(request: Request) -> str:
        form = first(request, path)
        return strict_schema({"name": "format", "parameters": form.get("schema"), "strict": form.get("strict")}) if form else ""

    return check


def arrays_have_items(path: str) -> Check:
    def check(request: Request) -> str:
        for schema in at(request, path):
            if any(node.get("type") == "array" and not {"items", "prefixItems"} & set(node) for node in schemas(schema)):
                return "Invalid schema for function: array schema missing items."
        return ""

    return check


# Chat


def pairs(request: Request) -> str:
    """Each call has its result right after it, and each result its call."""
    waiting: list[str] = []
    for index, message in enumerate(request["messages"]):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return f"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. messages.[{index}].role"
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        if len(set(waiting)) < len(waiting):
            return "Duplicate value for 'tool_call_id'"
    return "An assistant message with 'tool_calls' must be followed by tool messages" if waiting else ""


def late_system(request: Request) -> str:
    roles = [message["role"] in ("system", "developer") for message in request["messages"]]
    return "System message must be at the beginning." if any(roles[1:]) else ""


def mistral_order(request: Request) -> str:
    roles = [message["role"] for message in request["messages"]]
    for before, after in pairwise(roles):
        if before == "tool" and after == "user":
            return "Unexpected role 'user' after role 'tool'"
    last = request["messages"][-1] if roles else {}
    if roles and roles[-1] == "assistant" and not last.get("prefix"):
        return "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"
    empty = [message for message in request["messages"] if message["role"] == "assistant" and not message.get("content") and not message.get("tool_calls")]
    return "Assistant message must have either content or tool_calls, but not none." if empty else ""


def json_word(path: str, where: str) -> Check:
    def check(request: Request) -> str:
        said = " ".join(text for key in where.split() for text in at(request, f"{key}.**.text"))
        said += json.dumps([request.get(key) for key in where.split()])
        wrong = first(request, path) == "json_object" and "json" not in said.lower()
        return "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'." if wrong else ""

    return check


def functions(request: Request) -> bool:
    return bool(request.get("tools"))


def thinks(request: Request) -> bool:
    return first(request, "thinking.type") == "enabled" or request.get("enable_thinking") is True


def reasoned_calls(key: str, *, blank: bool) -> Check:
    """Each call comes back with the reasoning that led to it, while the model thinks."""

    def check(request: Request) -> str:
        if first(request, "thinking.type") == "disabled":
            return ""
        for index, message in enumerate(request["messages"]):
            text = message.get(key)
            if message.get("tool_calls") and not (text if blank else (text or "").strip()):
                return f"thinking is enabled but {key} is missing in assistant tool call message at index {index}"
        return ""

    return check


def plain_parts(request: Request) -> str:
    wrong = [message for message in request["messages"] if message["role"] == "tool" and not isinstance(message["content"], str)]
    kinds = [part["type"] for message in wrong for part in message["content"] if part["type"] != "text"]
    return f"messages: tool content takes text alone, found {kinds[0]}" if kinds else ""


# Responses


def response_pairs(request: Request) -> str:
    called = [item["call_id"] for item in request["input"] if item.get("type") in ("function_call", "custom_tool_call")]
    given = [item["call_id"] for item in request["input"] if str(item.get("type")).endswith("_call_output")]
    if missing := [id_ for id_ in called if id_ not in given]:
        return f"No tool output found for function call {missing[0]}."
    if orphans := [id_ for id_ in given if id_ not in called]:
        return f"No tool call found for function call output with call_id {orphans[0]}."
    return "Duplicate item found" if len(set(called)) < len(called) else ""


def has_effort(request: Request) -> bool:
    return (request.get("reasoning_effort") or first(request, "reasoning.effort", "none")) != "none"


NO_EXTRA = ("store", "metadata", "top_k", "verbosity", "prompt_cache_retention", "service_tier", "safety_identifier", "thinking", "enable_thinking")

CLAUDE = "messages * claude-*"
OLD = "claude-*-4|claude-*-4-[0-5]|claude-3-*"
NEWEST = "claude-opus-5-5|claude-sonnet-5-5|claude-fable-5-[12]|claude-mythos-5-[12]"
OPENAI = "chat api.openai.com *"
GPT_5 = "gpt-5*|gpt-6*|o3|o4-mini"
TOOLS_AT_NONE = "gpt-5.4|gpt-5.4-mini|gpt-5.5|gpt-5.6-*|gpt-6-sol|gpt-6-luna|gpt-6.1-terra"
DEFAULT_THINKS = "gpt-5.5|gpt-5.6-*|gpt-6-sol|gpt-6-luna|gpt-6.1-terra"
DEEPSEEK, MOONSHOT, MISTRAL = "chat api.deepseek.com *", "chat api.moonshot.ai *", "chat api.mistral.ai *"
XAI, GROQ, CEREBRAS = "chat|responses api.x.ai *", "chat api.groq.com *", "chat api.cerebras.ai *"
QWEN, ZAI, GEMINI = "chat dashscope.aliyuncs.com *", "chat api.z.ai *", "chat generativelanguage.googleapis.com *"

RULES = (
    # Anthropic and Claude elsewhere
    Rule("order", CLAUDE, messages_order),
    Rule("max_tokens is required", CLAUDE, needs("max_tokens"), "max_tokens"),
    *(
        Rule("most tokens", f"messages * {globs}", at_most("max_tokens", most, 0), "max_tokens")
        for globs, most in (
            ("claude-3-opus*|claude-3-haiku*", 4096), ("claude-3-5-*", 8192), ("claude-opus-4-1*|claude-opus-4", 32000),
            ("claude-sonnet-4|claude-sonnet-4-5|claude-haiku-4-5|claude-opus-4-5|claude-3-7-sonnet", 64000),
            ("claude-*-4-[6-8]|claude-*[a-z]-5*", 128000),
        )
    ),
    Rule("names of fields", CLAUDE, no("stop", "user", "n", "store", "reasoning_effort", "prompt_cache_key", "messages[].name", "verbosity")),
    Rule("no sampling", "messages * claude-opus-4-[78]|claude-*[a-z]-5*", no("temperature", "top_p", "top_k"), "temperature"),
    Rule("one sampler", "messages * claude-opus-4-1|claude-*-4-[56]", when(lambda r: "temperature" in r and "top_p" in r, "`temperature` and `top_p` cannot both be specified for this model. Please use only one.")),
    Rule("temperature to 1", CLAUDE, at_most("temperature", 1, 0), "temperature"),
    Rule("sampling while thinking", CLAUDE, when(lambda r: thinking(r) in ("enabled", "adaptive") and (r.get("temperature", 1) != 1 or r.get("top_p", 1) < 0.95 or "top_k" in r), "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.")),
    Rule("thinking kinds", "messages * claude-3-5-*|claude-3-opus|claude-3-haiku", no("thinking")),
    Rule("thinking kinds", f"messages * {OLD}", only("thinking.type", "enabled", "disabled"), unless="claude-3-5*|claude-3-[oh]*"),
    Rule("thinking kinds", "messages * claude-*-4-6", only("thinking.type", "enabled", "adaptive", "disabled")),
    Rule("thinking kinds", "messages * claude-*-4-[78]|claude-sonnet-5|claude-opus-5|claude-haiku-5-5", only("thinking.type", "adaptive", "disabled")),
    Rule("thinking kinds", "messages * claude-sonnet-5-5", only("thinking.type", "adaptive", "between_tools")),
    Rule("thinking kinds", "messages * claude-opus-5-5|claude-fable-*|claude-mythos-*", only("thinking.type", "adaptive")),
    Rule("budget", CLAUDE, budget, "thinking"),
    Rule("budget of adaptive", CLAUDE, when(lambda r: thinking(r) != "enabled" and "budget_tokens" in r.get("thinking", {}), "thinking.adaptive.budget_tokens: Extra inputs are not permitted")),
    Rule("bare thinking", CLAUDE, bare_thinking),
    Rule("signature", CLAUDE, when(lambda r: any(block["type"] == "thinking" and not block.get("signature") for _, block in blocks(r)), "messages.1.content.0.thinking.signature: Field required")),
    Rule("no effort", f"messages * {OLD}", no("output_config.effort"), unless="claude-opus-4-5"),
    Rule("effort words", "messages * claude-opus-4-5", only("output_config.effort", "low", "medium", "high")),
    Rule("effort words", "messages * claude-*-4-6", only("output_config.effort", "low", "medium", "high", "max")),
    Rule("effort words", "messages * claude-*-4-[78]|claude-*[a-z]-5*", only("output_config.effort", "low", "medium", "high", "xhigh", "max")),
    Rule("effort ceiling", "messages bedrock-runtime.* claude-*-4-[78]|claude-*[a-z]-5*", only("output_config.effort", "low", "medium", "high", "xhigh")),
    Rule("effort without thinking", "messages * claude-opus-5|claude-sonnet-5-5", when(lambda r: thinking(r) in ("disabled", "between_tools") and first(r, "output_config.effort") in ("xhigh", "max"), "output_config.effort 'xhigh' is not supported when thinking is disabled on this model")),
    Rule("prefill", "messages * claude-*-4-[678]|claude-*[a-z]-5*", when(lambda r: r["messages"][-1]["role"] == "assistant", "This model does not support assistant message prefill. The conversation must end with a user message.")),
    Rule("prefill while thinking", CLAUDE, when(lambda r: thinking(r) in ("enabled", "adaptive") and r["messages"][-1]["role"] == "assistant", "Prefilling assistant messages is not supported while thinking")),
    Rule("prefill blank", CLAUDE, when(lambda r: r["messages"][-1]["role"] == "assistant" and isinstance(r["messages"][-1]["content"], str) and r["messages"][-1]["content"] != r["messages"][-1]["content"].rstrip(), "messages: final assistant content cannot end with trailing whitespace")),
    Rule("forced", f"messages * {NEWEST}", when(forced, 'tool_choice: type "tool" and "any" are not supported for this model.')),
    Rule("forced while thinking", CLAUDE, when(lambda r: thinking(r) == "enabled" and forced(r), "Thinking may not be enabled when tool_choice forces tool use.")),
    Rule("system inside", f"messages * {OLD}|claude-*-4-[67]|claude-sonnet-5", when(lambda r: any(message["role"] == "system" for message in r["messages"]), "role 'system' is not supported on this model")),
    Rule("system inside", "messages bedrock-*|*aiplatform*|*.azure.com claude-*", when(lambda r: any(message["role"] == "system" for message in r["messages"]), "role 'system' is not supported on this model")),
    Rule("system place", CLAUDE, system_place),
    Rule("roles", CLAUDE, only("messages[].role", "user", "assistant", "system")),
    Rule("blank text", CLAUDE, blank_text),
    Rule("images", CLAUDE, only("messages[].content[].source.media_type", "image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf", "text/plain")),
    Rule("last block", CLAUDE, when(lambda r: any(m["role"] == "assistant" and isinstance(m["content"], list) and m["content"][-1]["type"] in ("thinking", "redacted_thinking") for m in r["messages"]), "messages.1: The final block in an assistant message cannot be `thinking`.")),
    Rule("unique tools", CLAUDE, when(lambda r: len({tool["name"] for tool in r.get("tools", ())}) < len(r.get("tools", ())), "tools: Tool names must be unique.")),
    Rule("ids", CLAUDE, fits("messages[].content[].id", r"[a-zA-Z0-9_-]+")),
    Rule("tool names", CLAUDE, fits("tools[].name", r"[a-zA-Z0-9_-]{1,64}")),
    Rule("breakpoints", CLAUDE, breakpoints),
    Rule("root union", CLAUDE, root_union("tools[].input_schema")),
    Rule("valid schema", CLAUDE, valid_schema("tools[].input_schema")),
    Rule("property names", CLAUDE, property_names),
    Rule("choice without tools", CLAUDE, when(lambda r: "tool_choice" in r and not r.get("tools"), "tool_choice: may only be specified while providing tools")),
    Rule("no format", "messages * claude-3-*|claude-opus-4|claude-sonnet-4", no("output_config.format")),
    Rule("format", CLAUDE, closed("output_config.format.schema")),
    Rule("format", CLAUDE, no_keyword("output_config.format.schema", "oneOf", "not", "if", "minimum", "maximum", "minLength", "maxLength", "maxItems", "uniqueItems", "prefixItems", "patternProperties", "propertyNames")),
    Rule("blank stops", CLAUDE, when(lambda r: any(not stop.strip() for stop in r.get("stop_sequences", ())), "stop_sequences: each stop sequence must contain non-whitespace")),
    Rule("metadata", CLAUDE, when(lambda r: set(r.get("metadata", {})) - {"user_id"} or "@" in str(r.get("metadata", "")), "metadata.user_id: should not contain an email address")),
    Rule("search tool", CLAUDE, when(lambda r: any(tool.get("type", "custom") not in ("custom", "web_search_20250305", "web_search_20260209") for tool in r.get("tools", ())), "tools.0: Input tag found using 'type' does not match any of the expected tags")),
    Rule("service tier", CLAUDE, only("service_tier", "auto", "standard_only")),
    Rule("of the cloud", "messages bedrock-runtime.* *", no("model", "stream", "service_tier", "**.cache_control.scope")),
    Rule("of the cloud", "messages *aiplatform* *", no("model", "service_tier", "context_management", "tools[].strict", "**.cache_control.scope")),
    Rule("of the cloud", "messages *aiplatform* claude-*-4-5", no("output_config")),
    Rule("of the cloud", "messages bedrock-runtime.*|*aiplatform* *", needs("anthropic_version")),
    Rule("strict elsewhere", "messages bedrock-runtime.* claude-opus-4-[78]|claude-opus-5*|claude-sonnet-4|claude-sonnet-5*|claude-haiku-5-5", no("tools[].strict")),
    Rule("strict false", "messages * claude-*", when(lambda r: any(tool.get("strict") is False for tool in r.get("tools", ())), "tools.0.custom.strict: Extra inputs are not permitted")),
    Rule("search elsewhere", "messages bedrock-runtime.*|*githubcopilot* *", when(lambda r: any(tool.get("type", "").startswith("web_search") for tool in r.get("tools", ())), "tools.0: Input tag 'web_search_20250305' found using 'type' does not match")),
    # OpenAI
    Rule("limit's name", f"chat api.openai.com|*.azure.com|*githubcopilot* {GPT_5}", no("max_tokens"), "max_tokens"),
    Rule("most tokens", "chat|responses api.openai.com gpt-4o*", lambda r: at_most("max_completion_tokens", 16384)(r) or at_most("max_tokens", 16384)(r) or at_most("max_output_tokens", 16384)(r)),
    Rule("most tokens", "chat|responses api.openai.com gpt-5*|gpt-6*", lambda r: at_most("max_completion_tokens", 128000)(r) or at_most("max_output_tokens", 128000)(r)),
    Rule("least tokens", "responses * *", at_most("max_output_tokens", 10**9, 16)),
    Rule("fields", OPENAI, no("top_k", "thinking", "enable_thinking", "reasoning", "cache_control", "messages[].reasoning_content", "messages[].reasoning_details", "**.cache_control")),
    Rule("tools with effort", f"chat api.openai.com {TOOLS_AT_NONE}", when(lambda r: functions(r) and has_effort(r), "Function tools with reasoning_effort are not supported for this model in /v1/chat/completions. Please use /v1/responses instead."), "reasoning_effort"),
    Rule("tools with the default effort", f"chat api.openai.com {DEFAULT_THINKS}", when(lambda r: functions(r) and r.get("reasoning_effort") != "none", "Function tools with reasoning_effort are not supported for this model in /v1/chat/completions. Please use /v1/responses instead."), "reasoning_effort"),
    *(
        Rule("effort words", f"{apis} api.openai.com {globs}", lambda r, w=words: only("reasoning_effort", *w)(r) or only("reasoning.effort", *w)(r))
        for apis, globs, words in (
            ("chat|responses", "o3|o4-mini|gpt-5-codex|gpt-5.1-codex|gpt-5.1-codex-mini", ("low", "medium", "high")),
            ("chat|responses", "gpt-5|gpt-5-mini|gpt-5-nano", ("minimal", "low", "medium", "high")),
            ("chat|responses", "gpt-5.1", ("none", "low", "medium", "high")),
            ("chat|responses", "gpt-5.2|gpt-5.4|gpt-5.4-mini|gpt-5.5", ("none", "low", "medium", "high", "xhigh")),
            ("chat", "gpt-5.6-*|gpt-6-sol|gpt-6-luna|gpt-6.1-terra", ("none", "low", "medium", "high", "xhigh")),
            ("responses", "gpt-5.6-*|gpt-6-sol|gpt-6-luna|gpt-6.1-terra", ("none", "low", "medium", "high", "xhigh", "max")),
            ("chat", "gpt-6-astra|gpt-6.1-sol", ("low", "medium", "high", "xhigh")),
            ("responses", "gpt-6-astra|gpt-6.1-sol", ("low", "medium", "high", "xhigh", "max")),
        )
    ),
    Rule("does not think", "chat|responses api.openai.com gpt-4*", lambda r: no("reasoning_effort", "reasoning")(r) or only("include[]", "message.output_text.logprobs")(r)),
    Rule("verbosity", "chat|responses api.openai.com gpt-4*|o3|o4-mini", lambda r: only("verbosity", "medium")(r) or only("text.verbosity", "medium")(r)),
    Rule("no sampling", "chat|responses api.openai.com o3|o4-mini|gpt-5|gpt-5-mini|gpt-5-nano|gpt-6-astra|gpt-6.1-sol", no("temperature", "top_p")),
    Rule("sampling at none", "chat|responses api.openai.com gpt-5.1|gpt-5.2|gpt-5.4|gpt-5.4-mini", when(lambda r: ("temperature" in r or "top_p" in r) and has_effort(r), "Unsupported parameter: 'temperature' is not supported with this model.")),
    Rule("sampling at none", f"chat|responses api.openai.com {DEFAULT_THINKS}", when(lambda r: ("temperature" in r or "top_p" in r) and (r.get("reasoning_effort") or first(r, "reasoning.effort")) != "none", "Unsupported parameter: 'temperature' is not supported with this model.")),
    Rule("no stop", f"chat api.openai.com {GPT_5}", no("stop"), "stop"),
    Rule("stops", OPENAI, when(lambda r: len(r.get("stop", ())) > 4, "Invalid 'stop': array too long. Expected an array with maximum length 4.")),
    Rule("stop", "responses * *", no("stop", "stop_sequences", "top_k", "max_tokens", "messages", "reasoning_effort", "response_format", "**.cache_control")),
    Rule("tier", "chat|responses api.openai.com *", only("service_tier", "auto", "default", "flex", "priority", "scale", "fast", "ultrafast")),
    Rule("cache key", "chat|responses api.openai.com *", fits("prompt_cache_key", r"[\x20-\x7e]{1,64}")),
    Rule("retention", "chat|responses api.openai.com gpt-5.[5-9]*|gpt-6*", only("prompt_cache_retention", "24h")),
    Rule("user", "chat|responses api.openai.com *", fits("user", r"(?s).{1,64}")),
    Rule("tools", "chat|responses api.openai.com *", when(lambda r: r.get("tools") == [] or len(r.get("tools", ())) > 128, "Invalid 'tools': array too long. Expected an array with maximum length 128.")),
    Rule("tool names", "chat api.openai.com *", fits("tools[].function.name", r"[a-zA-Z0-9_-]{1,64}")),
    Rule("tool names", "responses api.openai.com *", fits("tools[].name", r"[a-zA-Z0-9_-]{1,64}")),
    Rule("call ids", OPENAI, fits("messages[].tool_calls[].id", r"[\s\S]{1,40}")),
    Rule("call ids", "responses * *", fits("input[].call_id", r"[\s\S]{1,64}")),
    Rule("only with tools", "chat|responses * *", when(lambda r: not r.get("tools") and ("tool_choice" in r or "parallel_tool_calls" in r), "'tool_choice' is only allowed when 'tools' are specified.")),
    Rule("pairs", "chat * *", pairs),
    Rule("pairs", "responses * *", response_pairs),
    Rule("json word", "chat api.openai.com|api.deepseek.com|dashscope.aliyuncs.com *", json_word("response_format.type", "messages")),
    Rule("json word", "responses api.openai.com *", json_word("text.format.type", "input instructions")),
    Rule("root union", OPENAI, root_union("tools[].function.parameters", "not", "enum")),
    Rule("root union", "responses api.openai.com gpt-4*|o3|o4-mini", root_union("tools[].parameters", "not", "enum")),
    Rule("arrays", OPENAI, arrays_have_items("tools[].function.parameters")),
    Rule("arrays", "responses api.openai.com *", arrays_have_items("tools[].parameters")),
    Rule("strict", "chat|responses api.openai.com *", strict_tools),
    Rule("strict format", OPENAI, strict_format("response_format.json_schema")),
    Rule("strict format", "responses api.openai.com *", strict_format("text.format")),
    Rule("reasoning", "responses * *", when(lambda r: any(item.get("type") == "reasoning" and (at_ + 1 == len(r["input"]) or r["input"][at_ + 1].get("role") in ("user", "developer") or str(r["input"][at_ + 1].get("type")).endswith("_output")) for at_, item in enumerate(r["input"])), "Item 'rs_1' of type 'reasoning' was provided without its required following item.")),
    Rule("files", MISTRAL, no("messages[].content[].file"), status=422),
    Rule("store", "responses * *", only("store", False)),
    Rule("the backend", "responses chatgpt.com *", no("max_output_tokens", "temperature", "top_p", "metadata", "user", "truncation", "prompt_cache_retention", "previous_response_id")),
    Rule("the backend", "responses chatgpt.com *", lambda r: needs("instructions", "stream")(r) or only("stream", True)(r)),
    Rule("the backend", "responses chatgpt.com *", only("service_tier", "default", "priority")),
    Rule("the backend", "responses chatgpt.com *", when(lambda r: any(item.get("role") == "system" for item in r["input"]), "System messages are not allowed")),
    # other hosts
    Rule("unknown", DEEPSEEK, no("max_completion_tokens", "user", "parallel_tool_calls", "messages[].reasoning_details", "**.cache_control", "store", "prompt_cache_key", "top_k")),
    Rule("forced", DEEPSEEK, when(lambda r: forced(r) and first(r, "thinking.type") != "disabled", "Thinking mode does not support this tool_choice"), unless="deepseek-chat"),
    Rule("off with effort", DEEPSEEK, when(lambda r: first(r, "thinking.type") == "disabled" and "reasoning_effort" in r, "thinking is disabled, reasoning_effort is not allowed")),
    Rule("effort", DEEPSEEK, only("reasoning_effort", "low", "high", "max")),
    Rule("reasoning", DEEPSEEK, reasoned_calls("reasoning_content", blank=False), unless="deepseek-chat"),
    Rule("schema", DEEPSEEK, when(lambda r: first(r, "response_format.type") == "json_schema", "This response_format type is unavailable now")),
    Rule("functions", DEEPSEEK, only("tools[].type", "function")),
    Rule("roles", DEEPSEEK, only("messages[].role", "system", "user", "assistant", "tool")),
    Rule("temperature", "chat api.moonshot.ai kimi-k2.[5-9]*|kimi-k3*", no("temperature", "top_p")),
    Rule("effort", "chat api.moonshot.ai kimi-k2*", no("reasoning_effort", "reasoning")),
    Rule("effort", "chat api.moonshot.ai kimi-k3*", only("reasoning_effort", "low", "high", "max")),
    Rule("thinking", "chat api.moonshot.ai kimi-k3*", no("thinking")),
    Rule("thinking", "chat api.moonshot.ai kimi-k2.7-code", only("thinking.type", "enabled")),
    Rule("forced", "chat api.moonshot.ai kimi-k2.[567]*", when(lambda r: forced(r) and first(r, "thinking.type") != "disabled", "tool_choice 'specified' is incompatible with thinking enabled")),
    Rule("reasoning", "chat api.moonshot.ai kimi-k2.[567]*|kimi-k3*", reasoned_calls("reasoning_content", blank=True)),
    Rule("ids", "chat api.moonshot.ai kimi-*", fits("messages[].tool_calls[].id", r"functions\.[\w.-]+:\d+")),
    Rule("unknown", MOONSHOT, no("user", "max_completion_tokens", "store", "**.cache_control", "messages[].reasoning_details", "top_k", "parallel_tool_calls.x")),
    Rule("roles", MOONSHOT, only("messages[].role", "system", "user", "assistant", "tool")),
    Rule("schema", MOONSHOT, no_keyword("tools[].function.parameters", "type", beside="anyOf")),
    Rule("unknown", ZAI, no("max_completion_tokens", "store", "**.cache_control", "messages[].reasoning_details", "user", "parallel_tool_calls", "top_k")),
    Rule("schema", ZAI, when(lambda r: first(r, "response_format.type") == "json_schema", "json_schema")),
    Rule("forced", ZAI, when(forced, "tool_choice: only auto")),
    Rule("sampling", ZAI, lambda r: at_most("temperature", 1, 0)(r) or at_most("top_p", 1, 0.01)(r)),
    Rule("users", ZAI, when(lambda r: not any(m["role"] == "user" for m in r["messages"]) or any(m["content"] == "" and not m.get("tool_calls") for m in r["messages"]), "The messages parameter is illegal. (1214)")),
    Rule("off", "chat api.z.ai glm-5.3*", no("thinking.type")),
    Rule("system", ZAI, late_system),
    Rule("forced", QWEN, when(lambda r: forced(r) and r.get("enable_thinking") is not False, "tool_choice parameter does not support being set to required or object in thinking mode"), unless="qwen3-max|qwen3-coder*"),
    Rule("system", QWEN, late_system),
    Rule("unknown", QWEN, no("store", "max_completion_tokens", "messages[].content[].file")),
    Rule("json while thinking", QWEN, when(lambda r: first(r, "response_format.type") == "json_object" and r.get("enable_thinking") is not False, "Json mode response is not supported when enable_thinking is true"), unless="qwen3-max|qwen3-coder*"),
    Rule("temperature", QWEN, at_most("temperature", 1.999, 0)),
    Rule("unknown", MISTRAL, no("store", "max_completion_tokens", "user", "seed", "service_tier", "logit_bias", "verbosity", "stream_options", "messages[].reasoning_content", "messages[].reasoning", "messages[].reasoning_details", "thinking", "reasoning", "top_k", "**.cache_control"), status=422),
    Rule("names", MISTRAL, when(lambda r: any("name" in m and m["role"] != "tool" for m in r["messages"]), "body.messages.1.user.name: Extra inputs are not permitted"), status=422),
    Rule("order", MISTRAL, mistral_order),
    Rule("system", MISTRAL, late_system),
    Rule("ids", MISTRAL, fits("messages[].tool_calls[].id", r"[a-zA-Z0-9]{9}")),
    Rule("schema", MISTRAL, no_keyword("tools[].function.parameters", "$ref", "$id", "$schema")),
    Rule("sampling", MISTRAL, lambda r: at_most("temperature", 1.5, 0)(r) or at_most("top_p", 1, 0.0001)(r)),
    Rule("effort", MISTRAL, only("reasoning_effort", "none", "high")),
    Rule("no effort", "chat|responses api.x.ai grok-4|grok-4.20*|grok-code*|grok-build*", no("reasoning_effort", "reasoning.effort"), unless="grok-4.20-multi*"),
    Rule("effort", "chat|responses api.x.ai grok-4.[56]", lambda r: only("reasoning_effort", "low", "medium", "high")(r) or only("reasoning.effort", "low", "medium", "high")(r)),
    Rule("unknown", XAI, no("stop", "presence_penalty", "frequency_penalty", "store.x", "messages[].name", "metadata", "reasoning.summary", "tools[].strict", "messages[].reasoning_details")),
    Rule("unknown", GROQ, no("messages[].reasoning_content", "messages[].reasoning_details", "**.cache_control", "store", "messages[].name", "thinking", "reasoning", "top_k")),
    Rule("effort", GROQ, no("reasoning_effort"), unless="gpt-oss*|qwen*"),
    Rule("effort", "chat api.groq.com gpt-oss*", only("reasoning_effort", "low", "medium", "high")),
    Rule("effort", "chat api.groq.com qwen*", only("reasoning_effort", "none", "default")),
    Rule("unknown", CEREBRAS, no("messages[].reasoning_content", "messages[].reasoning_details", "reasoning", "enable_thinking", "thinking", "**.cache_control", "store", "stream_options", "messages[].name", "top_k")),
    Rule("one limit", CEREBRAS, when(lambda r: "max_tokens" in r and "max_completion_tokens" in r, "max_tokens and max_completion_tokens")),
    Rule("tools with a format", "chat api.cerebras.ai|api.fireworks.ai *", when(lambda r: r.get("tools") and "response_format" in r, '"tools" is incompatible with "response_format"')),
    Rule("effort", "chat api.cerebras.ai gpt-oss*", only("reasoning_effort", "low", "medium", "high")),
    Rule("unknown", "chat api.fireworks.ai *", no("stream_options", "store", "**.cache_control", "messages[].reasoning_details")),
    Rule("both", "chat api.fireworks.ai *", when(lambda r: "thinking" in r and "reasoning_effort" in r, "cannot specify both")),
    Rule("bare required", "chat api.fireworks.ai *", when(lambda r: any(node.keys() == {"required"} for schema in at(r, "tools[].function.parameters") for node in schemas(schema)), "JSON Schema not supported: could not understand the instance")),
    Rule("unknown", GEMINI, no("store", "reasoning", "thinking", "enable_thinking", "top_k", "user", "**.cache_control", "messages[].reasoning_content", "messages[].reasoning_details")),
    Rule("const", GEMINI, no_keyword("tools[].function.parameters", "const")),
    Rule("effort", "chat generativelanguage.googleapis.com gemini-3-pro*", only("reasoning_effort", "low", "high")),
    Rule("effort", "chat generativelanguage.googleapis.com gemini-3.[1-9]*|gemini-4*", only("reasoning_effort", "low", "medium", "high")),
    Rule("limit", "chat generativelanguage.googleapis.com gemini-3*|gemini-2.5*", at_most("max_tokens", 65536)),
    Rule("tools' content", "chat * *", plain_parts),
    Rule("named choice", "chat *:1234|*:8080 *", when(lambda r: isinstance(r.get("tool_choice"), dict), "Invalid tool_choice type: 'object'. Supported string values: none, auto, required")),
    Rule("no forced", "chat api.deepinfra.com *", when(forced, "tool_choice: only auto and none")),
)


def _named(model: str) -> str:
    """The id as the rows have it."""
    name = model.lower().rpartition("/")[2].partition(":")[0].partition("@")[0]
    name = re.sub(r"^([a-z-]+\.)?anthropic\.", "", name)
    if name.startswith("claude"):
        return re.sub(r"(-\d{8})?(-v\d+)?$", "", name).replace(".", "-")
    return re.sub(r"-20\d\d-\d\d-\d\d$", "", name)


@cache
def rules_of(api: str, host: str, model: str) -> tuple[Rule, ...]:
    """The rules of one upstream."""
    return tuple(rule for rule in RULES if rule.holds(api, host, _named(model)))


def refusal(api: str, host: str, model: str, request: Request) -> Refused | None:
    """The first rule that refuses the request."""
    for rule in rules_of(api, host, model):
        if message := rule.check(request):
            return Refused(rule.status, body(api, host, message, rule.param), rule.name)
    return None


def body(api: str, host: str, message: str, param: str = "") -> Any:
    """The error as the host words it."""
    if api == "messages":
        if host.startswith("bedrock"):
            return {"message": message}
        return {"type": "error", "error": {"type": "invalid_request_error", "message": message}, "request_id": "req_1"}
    if "chatgpt.com" in host:
        return {"detail": message}
    if host == "api.mistral.ai":
        return {"object": "error", "message": {"detail": [{"type": "extra_forbidden", "loc": ["body", *message.partition(":")[0].split(".")], "msg": message}]}, "type": "invalid_request_error", "param": None, "code": None}
    if host == "api.x.ai":
        return {"code": "Client specified an invalid argument", "error": message}
    if host == "api.cerebras.ai":
        return {"message": message, "type": "invalid_request_error", "param": "validation_error", "code": "wrong_api_format"}
    if "googleapis" in host:
        return [{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}]
    if host == "api.z.ai":
        return {"error": {"code": "1214", "message": message}}
    if host == "api.fireworks.ai":
        return {"error": {"object": "error", "type": "invalid_request_error", "message": message}}
    return {"error": {"message": message, "type": "invalid_request_error", "param": param or None, "code": None}}
