"""Messages → Chat Completions: requests, row by row, with what they become."""

import json
from hashlib import sha256
from typing import Any

from toolmend.core.reasoning_state import ReasoningState, envelope
from toolmend.requests.compaction import SUMMARY

OPENAI, ROUTER, DEEPSEEK = "api.openai.com", "openrouter.ai", "api.deepseek.com"
MOONSHOT, DASHSCOPE, MISTRAL, VLLM = "api.moonshot.ai", "dashscope.aliyuncs.com", "api.mistral.ai", "127.0.0.1:8000"

PNG = {"type": "base64", "media_type": "image/png", "data": "iVBORw0K"}
PDF = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x"}
PNG_URL = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K"}}
CACHE = {"type": "ephemeral"}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"name": "get_weather", "description": "The weather", "input_schema": SCHEMA}
FUNCTION = {"type": "function", "function": {"name": "get_weather", "description": "The weather", "parameters": SCHEMA}}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def use(id_: str = "toolu_1", name: str = "get_weather", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


def result(content: Any = "Sunny", id_: str = "toolu_1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": content, **more}


def call(id_: str = "toolu_1", name: str = "get_weather", arguments: str = "{}") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def told(content: str, id_: str = "toolu_1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": content}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": blocks[0] if blocks and isinstance(blocks[0], str) else list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {**user(*blocks), "role": "assistant"}


HI = user("Hi")
AGAIN = f"call_{sha256(b'a').hexdigest()[:32]}"
"""What becomes of a second call `a`."""

type Row = tuple[str, list[dict[str, Any]], list[dict[str, Any]], list[str]]
CALLED = {"role": "assistant", "content": None, "tool_calls": [call()]}

# what it is, the messages of Anthropic, those of Chat Completions, words of the notes in their order
MESSAGES: list[Row] = [
    ("a string", [HI], [HI], []),
    ("one text is a string", [user(text("Hi"))], [HI], []),
    ("texts", [user(text("a"), text("b"))], [user(text("a"), text("b"))], []),
    ("empty texts", [user(text(""), text("Hi"))], [HI], []),
    ("a message of which nothing is left goes", [user("a"), user({"type": "container_upload", "file_id": "f"}), assistant({"type": "compaction"}), HI], [user("a"), HI], ["container_upload", "compaction"]),
    ("an empty message goes", [user("a"), assistant(""), user("b")], [user(text("a"), text("b"))], []),
    ("neighbours of a role", [user("a"), user(text("b"))], [user(text("a"), text("b"))], []),
    ("the system later on", [HI, {"role": "system", "content": "Be short"}], [HI, {"role": "system", "content": "Be short"}], []),
    ("an image", [user(text("a"), {"type": "image", "source": PNG})], [user(text("a"), PNG_URL)], []),
    (
        "an image's address",
        [user({"type": "image", "source": {"type": "url", "url": "https://e.com/a.png"}})],
        [user({"type": "image_url", "image_url": {"url": "https://e.com/a.png"}})],
        [],
    ),
    (
        "an image in a file",
        [user({"type": "image", "source": {"type": "file", "file_id": "file_1"}})],
        [user("[An image that is a file of the provider's is left out: another provider has no such file]")],
        ["no such file"],
    ),
    (
        "a PDF",
        [user({"type": "document", "source": PDF, "title": "A"})],
        [user({"type": "file", "file": {"filename": "A", "file_data": "data:application/pdf;base64,JVBERi0x"}})],
        [],
    ),
    (
        "a document of text",
        [user({"type": "document", "title": "A", "source": {"type": "text", "media_type": "text/plain", "data": "B"}})],
        [user("A\n\nB")],
        [],
    ),
    (
        "a document of blocks",
        [user({"type": "document", "source": {"type": "content", "content": [text("a"), text("b"), {"type": "image", "source": PNG}]}})],
        [user("a\n\nb")],
        ["image inside a document"],
    ),
    ("a document of texts", [user({"type": "document", "source": {"type": "content", "content": [text("a"), text("b")]}})], [user("a\n\nb")], []),
    (
        "a document in a file",
        [user({"type": "document", "source": {"type": "file", "file_id": "file_1"}})],
        [user("[A document that is a file of the provider's is left out: another provider has no such file]")],
        ["no such file"],
    ),
    (
        "a document's address",
        [user({"type": "document", "source": {"type": "url", "url": "https://e.com/a.pdf"}})],
        [user("[document https://e.com/a.pdf]")],
        ["only the address"],
    ),
    (
        "a search result",
        [user({"type": "search_result", "title": "T", "source": "https://e.com", "content": [text("a")]})],
        [user("T\nhttps://e.com\na")],
        [],
    ),
    ("a container upload", [user(text("Hi"), {"type": "container_upload", "file_id": "f"})], [HI], ["container_upload"]),
    ("citations", [user(text("Hi", citations=[{"type": "char_location"}]))], [HI], ["citations"]),
    ("thoughts of the user's", [user(text("Hi"), {"type": "thinking", "thinking": "Hm", "signature": ""})], [HI], []),
    ("citations that are none", [user(text("Hi", citations=None))], [HI], []),
    (
        "a call and its result",
        [HI, assistant(text("See"), use(city="Bonn")), user(result())],
        [HI, {"role": "assistant", "content": "See", "tool_calls": [call(arguments='{"city":"Bonn"}')]}, told("Sunny")],
        [],
    ),
    (
        "text behind calls stands in front of them",
        [assistant(text("a"), use(), text("b")), user(result())],
        [{"role": "assistant", "content": [text("a"), text("b")], "tool_calls": [call()]}, told("Sunny")],
        [],
    ),
    (
        "arguments that are a JSON text",
        [assistant({**use(), "input": '{"city": "Bonn"}'}), user(result())],
        [{"role": "assistant", "content": None, "tool_calls": [call(arguments='{"city": "Bonn"}')]}, told("Sunny")],
        [],
    ),
    ("who called", [assistant({**use(), "caller": {"type": "direct"}}), user(result())], [CALLED, told("Sunny")], []),
    (
        "results in the order of their calls, and before all that the user says",
        [assistant(use("a"), use("b")), user(text("x"), result("B", "b"), text("y"), result("A", "a"))],
        [
            {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b")]},
            *(told("A", "a"), told("B", "b")),
            user(text("x"), text("y")),
        ],
        [],
    ),
    (
        "results over several messages",
        [assistant(use("a"), use("b")), user(result("B", "b")), user(result("A", "a"), text("x"))],
        [{"role": "assistant", "content": None, "tool_calls": [call("a"), call("b")]}, told("A", "a"), told("B", "b"), user("x")],
        [],
    ),
    (
        "calls over several messages",
        [assistant(use("a")), assistant(use("b")), user(result("A", "a"), result("B", "b"))],
        [{"role": "assistant", "content": None, "tool_calls": [call("a"), call("b")]}, told("A", "a"), told("B", "b")],
        [],
    ),
    (
        "a missing result",
        [assistant(use()), HI],
        [CALLED, told("Error: there is no result of this call."), HI],
        ["toolu_1 of get_weather had no result"],
    ),
    (
        "the result of a call whose id an earlier one has that had none",
        [assistant(use("a")), HI, assistant(use("a")), user(result("A", "a"))],
        [
            *({"role": "assistant", "content": None, "tool_calls": [call("a")]}, told("Error: there is no result of this call.", "a")),
            *(HI, {"role": "assistant", "content": None, "tool_calls": [call(AGAIN)]}, told("A", AGAIN)),
        ],
        ["a of get_weather had no result"],
    ),
    ("a result without a call", [HI, user(result())], [user(text("Hi"), text("Result of a tool:"), text("Sunny"))], ["has no call"]),
    (
        "a second result of a call",
        [assistant(use()), user(result(), result("Rain", is_error=True))],
        [CALLED, told("Sunny"), user(text("Error of a tool:"), text("Rain"))],
        ["has no call"],
    ),
    ("a failed tool", [assistant(use()), user(result("No", is_error=True))], [CALLED, told("Error: No")], []),
    ("a tool failed silently", [assistant(use()), user(result([], is_error=True))], [CALLED, told("Error: the tool failed")], []),
    ("an empty result", [assistant(use()), user(result(""))], [CALLED, told("")], []),
    ("no result's content", [assistant(use()), user({"type": "tool_result", "tool_use_id": "toolu_1"})], [CALLED, told("")], []),
    ("a result of one text", [assistant(use()), user(result([text("Sunny")]))], [CALLED, told("Sunny")], []),
    (
        "a result of texts",
        [assistant(use()), user(result([text("a"), text("b")]))],
        [CALLED, {**told(""), "content": [text("a"), text("b")]}],
        [],
    ),
    (
        "images of results, in one message behind all of them",
        [
            assistant(use("a"), use("b")),
            user(result([text("A"), {"type": "image", "source": PNG}], "a"), result([{"type": "image", "source": PNG}], "b"), text("x")),
        ],
        [
            {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b")]},
            {**told("", "a"), "content": [text("A"), text("[image 1 of those shown below]")]},
            told("[image 2 of those shown below]", "b"),
            user(text("Shown by the tools above:"), PNG_URL, PNG_URL, text("x")),
        ],
        [],
    ),
    (
        "an image of the last result, and nothing behind it",
        [assistant(use()), user(result([{"type": "image", "source": PNG}]))],
        [*(CALLED, told("[image 1 of those shown below]")), user(text("Shown by the tools above:"), PNG_URL)],
        [],
    ),
    (
        "an image of the last result, and what the assistant said then",
        [assistant(use()), user(result([{"type": "image", "source": PNG}])), assistant("Ok")],
        [
            *(CALLED, told("[image 1 of those shown below]")),
            user(text("Shown by the tools above:"), PNG_URL),
            assistant("Ok"),
        ],
        [],
    ),
    (
        "what else a tool may give",
        [assistant(use()), user(result([{"type": "hologram"}, {"type": "search_result", "title": "T", "content": []}]))],
        [CALLED, told("T")],
        ["hologram"],
    ),
    (
        "tools that a search for tools has found",
        [assistant(use()), user(result([{"type": "tool_reference", "tool_name": "x"}, {"type": "tool_reference", "tool_name": "y"}]))],
        [CALLED, {**told(""), "content": [text("Found the tool: x"), text("Found the tool: y")]}],
        [],
    ),
    (
        "what is left of a conversation that was compacted",
        [assistant({"type": "compaction", "content": "They said Hi."}, text("Ok")), HI],
        [{"role": "user", "content": SUMMARY.format("They said Hi.")}, assistant("Ok"), HI],
        [],
    ),
    (
        "what the provider's own tools did",
        [assistant({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}, text("Ok"))],
        [assistant("Ok")],
        ["server_tool_use"],
    ),
    (
        "a prefill",
        [HI, assistant("{")],
        [HI, assistant("{")],
        [],
    ),
]

WEB = {"type": "web_search_20250305", "name": "web_search"}
LONG = "x" * 65
STOPS = [str(n) for n in range(20)]

# what it is, host, model, fields of Anthropic's request, fields of Chat Completions (None: not there), words of the notes
FIELDS: list[tuple[str, str, str, dict[str, Any], dict[str, Any], list[str]]] = [
    ("the limit", VLLM, "m", {}, {"max_tokens": 9, "max_completion_tokens": None}, []),
    ("the limit of models that reason", OPENAI, "gpt-5", {}, {"max_completion_tokens": 9, "max_tokens": None}, []),
    ("the limit of o-series", OPENAI, "o3-mini", {}, {"max_completion_tokens": 9, "max_tokens": None}, []),
    ("the most a model gives", OPENAI, "gpt-4o", {"max_tokens": 32000}, {"max_completion_tokens": 16384}, ["instead of 32000"]),
    ("a router has one limit", ROUTER, "openai/gpt-5", {}, {"max_tokens": 9, "max_completion_tokens": None}, []),
    ("system", OPENAI, "m", {"system": "Be"}, {"messages": [{"role": "system", "content": "Be"}, HI]}, []),
    ("system blocks", OPENAI, "m", {"system": [text("a"), text("b")]}, {"messages": [{"role": "system", "content": [text("a"), text("b")]}, HI]}, []),
    ("system blocks joined", VLLM, "m", {"system": [text("a"), text("b")]}, {"messages": [{"role": "system", "content": "a\n\nb"}, HI]}, []),
    (
        "what Claude Code is billed by",
        VLLM, "m", {"system": [text("x-anthropic-billing-header: cc_version=2.1.177.01c; cc_entrypoint=cli; cch=36ee5;"), text("Be", cache_control=CACHE)]},
        {"messages": [{"role": "system", "content": "Be"}, HI]}, ["billing", "cache_control"],
    ),
    (
        "what Claude Code is billed by, in front of its prompt",
        VLLM, "m", {"system": "x-anthropic-billing-header: cch=36ee5;\nBe"}, {"messages": [{"role": "system", "content": "Be"}, HI]}, ["billing"],
    ),
    ("what Claude Code is billed by, alone", VLLM, "m", {"system": "x-anthropic-billing-header: cch=36ee5;"}, {"messages": [HI]}, ["billing"]),
    ("what is said of it stays", VLLM, "m", {"system": "An x-anthropic-billing-header: is one"}, {"messages": [{"role": "system", "content": "An x-anthropic-billing-header: is one"}, HI]}, []),
    (
        "the system only leads",
        VLLM, "m", {"messages": [HI, {"role": "system", "content": "Be"}]},
        {"messages": [user("Hi\n\n<system-reminder>\nBe\n</system-reminder>")]}, [],
    ),
    (
        "the system only leads Qwen, wherever it is served",
        ROUTER, "qwen/qwen3.6-35b-a3b", {"system": "a", "messages": [{"role": "system", "content": "b"}, HI, {"role": "system", "content": "Be"}]},
        {"messages": [{"role": "system", "content": [text("a"), text("b")]}, user(text("Hi"), text("<system-reminder>\nBe\n</system-reminder>"))]}, [],
    ),
    (
        "breakpoints go",
        OPENAI, "m", {"system": [text("a", cache_control=CACHE)], "tools": [{**TOOL, "cache_control": CACHE}], "cache_control": CACHE},
        {"messages": [{"role": "system", "content": "a"}, HI], "tools": [FUNCTION], "cache_control": None}, ["cache_control"],
    ),
    (
        "breakpoints stay",
        ROUTER, "anthropic/claude-sonnet-4.5",
        {"system": [text("a", cache_control=CACHE)], "tools": [{**TOOL, "cache_control": CACHE}], "cache_control": CACHE},
        {
            "messages": [{"role": "system", "content": [text("a", cache_control=CACHE)]}, HI],
            "tools": [{**FUNCTION, "cache_control": CACHE}],
            "cache_control": CACHE,
        },
        [],
    ),
    ("breakpoints are not for all models", ROUTER, "openai/gpt-5", {"system": [text("a", cache_control=CACHE)]}, {"messages": [{"role": "system", "content": "a"}, HI]}, ["cache_control"]),
    (
        "a breakpoint of a result",
        DASHSCOPE, "qwen3-max", {"messages": [assistant(use()), user(result(cache_control=CACHE))]},
        {"messages": [CALLED, {**told(""), "content": [text("Sunny", cache_control=CACHE)]}]}, [],
    ),
    ("no images", DEEPSEEK, "deepseek-chat", {"messages": [user({"type": "image", "source": PNG})]}, {"messages": [user("[An image is left out: this upstream sees none]")]}, ["sees none"]),
    ("no documents", DEEPSEEK, "deepseek-chat", {"messages": [user({"type": "document", "source": PDF})]}, {"messages": [user("[A document is left out: this upstream reads none]")]}, ["reads none"]),
    ("a tool", OPENAI, "m", {"tools": [TOOL]}, {"tools": [FUNCTION]}, []),
    ("a tool of the type custom", OPENAI, "m", {"tools": [{**TOOL, "type": "custom", "strict": True}]}, {"tools": [FUNCTION]}, ["strict"]),
    (
        "hints of a schema",
        OPENAI, "m",
        {"tools": [{"name": "a", "input_schema": {"$schema": "x", "type": "object", "properties": {"format": {"type": "string", "format": "uri"}, "$schema": {"type": "string", "format": "date"}}}}]},
        {"tools": [{"type": "function", "function": {"name": "a", "parameters": {"type": "object", "properties": {"format": {"type": "string"}, "$schema": {"type": "string", "format": "date"}}}}}]},
        ["format: uri"],
    ),
    (
        "no properties",
        OPENAI, "m", {"tools": [{"name": "a", "input_schema": {"type": "object"}}, {"name": "b", "input_schema": {}}]},
        {"tools": [{"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}} for name in "ab"]}, [],
    ),
    (
        "what only Anthropic knows of a tool",
        OPENAI, "m", {"tools": [{**TOOL, "defer_loading": True, "eager_input_streaming": True, "input_examples": [{}], "allowed_callers": ["direct"]}]},
        {"tools": [FUNCTION]}, ["defer_loading", "eager_input_streaming", "input_examples", "allowed_callers"],
    ),
    ("tools of the provider", OPENAI, "m", {"tools": [WEB, {"type": "bash_20250124", "name": "bash"}], "tool_choice": {"type": "any"}}, {"tool_choice": "required"}, ["web_search_20250305"]),
    ("a search by the router", ROUTER, "moonshotai/kimi-k2.5", {"tools": [WEB]}, {"tools": [{"type": "openrouter:web_search"}], "plugins": None}, []),
    ("a search by DashScope", DASHSCOPE, "qwen3-max", {"tools": [WEB, TOOL]}, {"tools": [FUNCTION], "enable_search": True}, []),
    ("a search by OpenAI", OPENAI, "gpt-4o-search-preview", {"tools": [WEB]}, {"tools": None, "web_search_options": {}}, []),
    *(
        (f"choice {given}", OPENAI, "m", {"tools": [TOOL], "tool_choice": {"type": given, **({"name": "get_weather"} if given == "tool" else {})}}, {"tool_choice": said}, [])
        for given, said in {
            "auto": "auto", "any": "required", "none": "none",
            "tool": {"type": "function", "function": {"name": "get_weather"}},
        }.items()
    ),
    ("a choice of a tool of the provider's", OPENAI, "m", {"tools": [WEB, TOOL], "tool_choice": {"type": "tool", "name": "web_search"}}, {"tools": [FUNCTION], "tool_choice": None}, ["the tool web_search", "web_search_20250305"]),
    ("a choice of no tools", OPENAI, "m", {"tools": [], "tool_choice": {"type": "any"}}, {"tools": None, "tool_choice": None}, []),
    ("one call at a time", OPENAI, "m", {"tools": [TOOL], "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}, {"tool_choice": "auto", "parallel_tool_calls": False}, []),
    ("one call at a time, unsaid", DEEPSEEK, "deepseek-chat", {"tools": [TOOL], "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}, {"parallel_tool_calls": None}, ["parallel_tool_calls"]),
    ("a call cannot be forced", DEEPSEEK, "deepseek-reasoner", {"tools": [TOOL], "tool_choice": {"type": "any"}}, {"tool_choice": "required", "thinking": {"type": "disabled"}}, ["Thinking is disabled"]),
    ("a call cannot be forced while it is to think", DEEPSEEK, "deepseek-v4-pro", {"tools": [TOOL], "tool_choice": {"type": "any"}, "thinking": {"type": "adaptive"}}, {"tool_choice": "auto", "thinking": {"type": "enabled"}}, ["tool_choice"]),
    ("a call can be forced where it does not think", MOONSHOT, "kimi-k2.5", {"tools": [TOOL], "tool_choice": {"type": "any"}, "thinking": {"type": "disabled"}}, {"tool_choice": "required"}, []),
    ("no call can be forced, but forbidden", DEEPSEEK, "deepseek-reasoner", {"tools": [TOOL], "tool_choice": {"type": "none"}}, {"tool_choice": "none"}, []),
    ("stops", OPENAI, "m", {"stop_sequences": ["a"]}, {"stop": ["a"]}, []),
    ("four stops", OPENAI, "m", {"stop_sequences": STOPS}, {"stop": STOPS[:4]}, ["first 4"]),
    ("sixteen stops", DEEPSEEK, "m", {"stop_sequences": STOPS}, {"stop": STOPS[:16]}, ["first 16"]),
    ("no stops", OPENAI, "gpt-5", {"stop_sequences": ["a"]}, {"stop": None}, ["all are looked for"]),
    ("any stops", VLLM, "m", {"stop_sequences": STOPS}, {"stop": STOPS}, []),
    ("samplers", OPENAI, "gpt-4o", {"temperature": 0.5, "top_p": 0.9, "top_k": 5}, {"temperature": 0.5, "top_p": 0.9, "top_k": None}, ["top_k"]),
    ("samplers of vLLM", VLLM, "m", {"temperature": 0, "top_p": 0.9, "top_k": 5}, {"temperature": 0, "top_p": 0.9, "top_k": 5}, []),
    ("samplers of models that reason", OPENAI, "gpt-5.5", {"temperature": 0.5, "top_p": 0.9}, {"temperature": None, "top_p": None}, ["temperature", "top_p"]),
    ("samplers of Kimi", MOONSHOT, "kimi-k2.5", {"temperature": 0.5}, {"temperature": None}, ["temperature"]),
    ("adaptive", OPENAI, "gpt-5", {"thinking": {"type": "adaptive"}}, {"reasoning_effort": None}, []),
    ("an effort", OPENAI, "gpt-5", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}, {"reasoning_effort": "high"}, []),
    ("the highest effort", OPENAI, "gpt-5", {"output_config": {"effort": "max"}}, {"reasoning_effort": "high"}, ["high instead of max"]),
    ("a budget", OPENAI, "gpt-5", {"thinking": {"type": "enabled", "budget_tokens": 10000}}, {"reasoning_effort": "medium"}, []),
    ("a small budget", OPENAI, "gpt-5", {"thinking": {"type": "enabled", "budget_tokens": 1024}}, {"reasoning_effort": "low"}, []),
    ("a great budget", OPENAI, "gpt-5", {"thinking": {"type": "enabled", "budget_tokens": 31999}}, {"reasoning_effort": "high"}, []),
    ("between tools", OPENAI, "gpt-5", {"thinking": {"type": "between_tools"}}, {"reasoning_effort": None}, ["between_tools"]),
    ("no thinking", OPENAI, "gpt-5.2", {"thinking": {"type": "disabled"}, "output_config": {"effort": "low"}}, {"reasoning_effort": "none"}, []),
    ("least thinking", OPENAI, "gpt-5", {"thinking": {"type": "disabled"}}, {"reasoning_effort": "minimal"}, ["not disabled"]),
    ("always thinking", OPENAI, "o3", {"thinking": {"type": "disabled"}}, {"reasoning_effort": "low"}, ["always thinks"]),
    ("a model that does not think", OPENAI, "gpt-4o", {"thinking": {"type": "adaptive"}}, {"reasoning_effort": None}, ["cannot be told"]),
    ("disabled with an effort", DEEPSEEK, "deepseek-v4", {"thinking": {"type": "disabled"}, "output_config": {"effort": "high"}}, {"thinking": {"type": "disabled"}, "reasoning_effort": None}, []),
    ("enabled with an effort", DEEPSEEK, "deepseek-v4", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}}, {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}, ["high instead of medium"]),
    ("Kimi thinks or not", MOONSHOT, "kimi-k2.5", {"thinking": {"type": "disabled"}, "output_config": {"effort": "high"}}, {"thinking": {"type": "disabled"}, "reasoning_effort": None}, []),
    ("Kimi with a budget", MOONSHOT, "kimi-k2.5", {"thinking": {"type": "enabled", "budget_tokens": 4096}}, {"thinking": {"type": "enabled"}}, []),
    ("a router's budget", ROUTER, "anthropic/claude-sonnet-4.5", {"thinking": {"type": "enabled", "budget_tokens": 4096}}, {"reasoning": {"max_tokens": 4096}}, []),
    ("a router's effort", ROUTER, "openai/gpt-5", {"output_config": {"effort": "low"}}, {"reasoning": {"effort": "low"}, "reasoning_effort": None}, []),
    ("a router's adaptive", ROUTER, "x", {"thinking": {"type": "adaptive"}}, {"reasoning": {"enabled": True}}, []),
    ("a router's silence", ROUTER, "x", {"thinking": {"type": "disabled"}}, {"reasoning": {"enabled": False}}, []),
    ("Qwen's budget", DASHSCOPE, "qwen3-max", {"thinking": {"type": "enabled", "budget_tokens": 4096}}, {"enable_thinking": True, "thinking_budget": 4096}, []),
    ("Qwen's silence", DASHSCOPE, "qwen3-max", {"thinking": {"type": "disabled"}}, {"enable_thinking": False}, []),
    (
        "a format",
        OPENAI, "m", {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": False}}}, [],
    ),
    (
        "the older field of a format, strict",
        OPENAI, "m", {"output_format": {"type": "json_schema", "schema": {**SCHEMA, "additionalProperties": False}}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": {**SCHEMA, "additionalProperties": False}, "strict": True}}}, [],
    ),
    (
        "a format without a field for its schema",
        DEEPSEEK, "deepseek-chat", {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object", "properties": {}}}}},
        {
            "response_format": {"type": "json_object"},
            "messages": [{"role": "system", "content": 'Answer with one JSON object of this schema, and nothing else:\n{"type":"object","properties":{}}'}, HI],
        },
        ["in the prompt"],
    ),
    (
        "a format without a field for its schema, and a system with an image",
        "api.z.ai", "glm-4.6v", {"messages": [{"role": "system", "content": [{"type": "image", "source": PNG}]}, HI], "output_config": {"format": {"type": "json_schema", "schema": {}}}},
        {"messages": [{"role": "system", "content": [PNG_URL, text("Answer with one JSON object of this schema, and nothing else:\n{}")]}, HI]},
        ["in the prompt"],
    ),
    (
        "a format without a field for its schema, and a system",
        DEEPSEEK, "deepseek-chat", {"system": "Be", "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
        {"messages": [{"role": "system", "content": 'Be\n\nAnswer with one JSON object of this schema, and nothing else:\n{"type":"object"}'}, HI]},
        ["in the prompt"],
    ),
    ("who asks", OPENAI, "m", {"metadata": {"user_id": "me"}}, {"user": "me"}, []),
    ("who asks, at length", OPENAI, "m", {"metadata": {"user_id": LONG}}, {"user": sha256(LONG.encode()).hexdigest()}, []),
    ("who asks, unsaid", MISTRAL, "m", {"metadata": {"user_id": "me"}}, {"user": None}, ["user"]),
    ("a stream", OPENAI, "m", {"stream": True}, {"stream": True, "stream_options": {"include_usage": True}}, []),
    ("a stream of Mistral", MISTRAL, "m", {"stream": True}, {"stream": True, "stream_options": None}, []),
    ("a tier", OPENAI, "m", {"service_tier": "standard_only"}, {"service_tier": "default"}, []),
    ("a tier that is so anyway", OPENAI, "m", {"service_tier": "auto"}, {"service_tier": None}, []),
    ("a tier elsewhere", MISTRAL, "m", {"service_tier": "standard_only"}, {"service_tier": None}, ["service_tier"]),
    ("no stream", OPENAI, "m", {"stream": False}, {"stream": None, "stream_options": None}, []),
    *(
        (key, OPENAI, "m", {key: value}, {key: None}, [key])
        for key, value in {
            "speed": "fast", "inference_geo": "eu", "container": "c", "mcp_servers": [{}],
            "context_management": {"edits": []}, "diagnostics": {}, "fallbacks": [], "user_profile_id": "u",
            "workspace_id": "w", "what_comes_next": {"x": 1},
        }.items()
    ),
]  # fmt: skip

SIGNED = {"type": "thinking", "thinking": "Hm", "signature": "c2ln"}
PLAIN = {"type": "thinking", "thinking": "Hm", "signature": envelope(ReasoningState("plain"))}
DETAILS = [{"type": "reasoning.text", "text": "Hm", "signature": "é\u2028", "index": 0, "format": None}, {"type": "reasoning.encrypted", "data": "x"}]
ROUTED = {"type": "thinking", "thinking": "Hm", "signature": envelope(ReasoningState("details", json.dumps(DETAILS)))}
CIPHER = {"type": "thinking", "thinking": "", "signature": envelope(ReasoningState("encrypted", '{"id":"rs_1","encrypted_content":"gAA"}'))}
REDACTED = {"type": "redacted_thinking", "data": "b64"}

# what it is, host, model, blocks of the assistant in front of a call, fields of its message, words of the notes
REASONING: list[tuple[str, str, str, list[dict[str, Any]], dict[str, Any], list[str]]] = [
    ("DeepSeek's own", DEEPSEEK, "deepseek-v4", [PLAIN], {"reasoning_content": "Hm"}, []),
    ("Claude's, for DeepSeek", DEEPSEEK, "deepseek-v4", [SIGNED], {"reasoning_content": "Hm"}, []),
    ("runs of it", DEEPSEEK, "deepseek-v4", [PLAIN, text("a"), SIGNED], {"reasoning_content": "HmHm", "content": "a"}, []),
    ("DeepSeek demands it", DEEPSEEK, "deepseek-v4", [], {"reasoning_content": None}, ["Thinking is disabled"]),
    ("Kimi demands it, and more than nothing", MOONSHOT, "kimi-k2.5", [], {"reasoning_content": " "}, []),
    ("Kimi's own", MOONSHOT, "kimi-k2.5", [PLAIN], {"reasoning_content": "Hm"}, []),
    ("vLLM", VLLM, "m", [PLAIN], {"reasoning_content": "Hm"}, []),
    ("vLLM demands none", VLLM, "m", [], {"reasoning_content": None}, []),
    ("OpenAI takes none", OPENAI, "gpt-5", [PLAIN], {"reasoning_content": None, "reasoning": None, "reasoning_details": None}, ["Reasoning"]),
    ("Mistral takes none", MISTRAL, "m", [SIGNED], {"reasoning_content": None}, ["Reasoning"]),
    ("a router's own", ROUTER, "x", [ROUTED], {"reasoning": "Hm", "reasoning_details": DETAILS}, []),
    ("a router's plain", ROUTER, "x", [PLAIN], {"reasoning": "Hm", "reasoning_details": None}, []),
    ("Claude's, by a router", ROUTER, "x", [SIGNED], {"reasoning": "Hm", "reasoning_details": [{"type": "reasoning.text", "text": "Hm", "signature": "c2ln", "format": "anthropic-claude-v1", "index": 0}]}, []),
    ("redacted, by a router", ROUTER, "x", [REDACTED], {"reasoning": None, "reasoning_details": [{"type": "reasoning.encrypted", "data": "b64", "format": "anthropic-claude-v1", "index": 0}]}, []),
    ("encrypted, by a router", ROUTER, "x", [CIPHER], {"reasoning_details": [{"type": "reasoning.encrypted", "data": "gAA", "format": "openai-responses-v1", "index": 0, "id": "rs_1"}]}, []),
    ("redacted", DEEPSEEK, "deepseek-v4", [REDACTED], {"reasoning_content": None}, ["Thinking is disabled", "Encrypted"]),
    ("redacted among others", VLLM, "m", [PLAIN, REDACTED], {"reasoning_content": "Hm", "reasoning_details": None}, ["Encrypted"]),
    ("encrypted among others", VLLM, "m", [PLAIN, CIPHER], {"reasoning_content": "Hm", "reasoning_details": None}, ["Encrypted"]),
    ("a list goes back to who gave it", "llm.example.com", "m", [ROUTED], {"reasoning_content": "Hm", "reasoning_details": DETAILS}, []),
    ("a router's, for DeepSeek", DEEPSEEK, "deepseek-v4", [ROUTED], {"reasoning_content": "Hm", "reasoning_details": None}, []),
    ("a broken seal of what is encrypted", ROUTER, "x", [{**PLAIN, "signature": envelope(ReasoningState("encrypted", "{"))}], {"reasoning": "Hm", "reasoning_details": None}, ["broken"]),
    ("a seal of nothing that is encrypted", ROUTER, "x", [{**PLAIN, "signature": envelope(ReasoningState("encrypted", "[]"))}], {"reasoning": "Hm", "reasoning_details": None}, ["broken"]),
    ("a broken seal", ROUTER, "x", [{**PLAIN, "signature": envelope(ReasoningState("details", "{"))}], {"reasoning": "Hm", "reasoning_details": None}, ["broken"]),
]  # fmt: skip
