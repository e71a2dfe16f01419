"""Chat Completions → Messages: requests, row by row, with what they become."""

from hashlib import sha256
from typing import Any

from toolmend.core.reasoning_state import ReasoningState, envelope

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION = {"type": "function", "function": {"name": "get_weather", "description": "The weather", "parameters": SCHEMA}}
TOOL = {"name": "get_weather", "description": "The weather", "input_schema": SCHEMA}
PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0K"}}
HI = {"role": "user", "content": "Hi"}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def call(id_: str = "call_1", name: str = "get_weather", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def use(id_: str = "call_1", name: str = "get_weather", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


def told(content: Any = "Sunny", id_: str = "call_1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": content}


def result(content: Any = "Sunny", id_: str = "call_1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": content, **more}


def says(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def calls(*entries: Any, content: Any = None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(entries), **more}


USED = says("assistant", [use()])
PDF = "data:application/pdf;base64,JVBERi0x"

# what it is, the messages of Chat Completions, those of Anthropic, words of the notes in their order
MESSAGES: list[tuple[str, list[dict[str, Any]], list[dict[str, Any]], list[str]]] = [
    ("a string", [HI], [HI], []),
    ("parts", [says("user", [text("a"), text("b")])], [says("user", [text("a"), text("b")])], []),
    ("breakpoints", [says("user", [text("a", cache_control={"type": "ephemeral"})])], [says("user", [text("a", cache_control={"type": "ephemeral"})])], []),
    ("an image's data", [says("user", [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K"}}])], [says("user", [PNG])], []),
    ("an image's data, with a charset", [says("user", [{"type": "image_url", "image_url": {"url": "data:image/png;charset=x;base64,iVBORw0K", "detail": "auto"}}])], [says("user", [PNG])], []),
    ("an image's type by another name", [says("user", [{"type": "image_url", "image_url": {"url": "data:image/jpg;base64,/9j/"}}])], [says("user", [{"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "/9j/"}}])], []),
    ("an image's address", [says("user", [{"type": "image_url", "image_url": "https://e.com/a.png"}])], [says("user", [{"type": "image", "source": {"type": "url", "url": "https://e.com/a.png"}}])], []),
    ("an image's detail", [says("user", [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K", "detail": "high"}}])], [says("user", [PNG])], ["detail"]),
    ("a PDF", [says("user", [{"type": "file", "file": {"filename": "A", "file_data": PDF}}])], [says("user", [{"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x"}, "title": "A"}])], []),
    ("a file of text", [says("user", [{"type": "file", "file": {"file_data": "data:text/plain;base64,SGk="}}])], [says("user", [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Hi"}}])], []),
    ("a file of text that is none", [says("user", [text("Hi"), {"type": "file", "file": {"file_data": "data:text/plain;base64,/w=="}}])], [HI], ["text/plain"]),
    ("another file", [says("user", [text("Hi"), {"type": "file", "file": {"file_data": "data:application/zip;base64,UEs="}}])], [HI], ["application/zip"]),
    ("a file of OpenAI's", [says("user", [text("Hi"), {"type": "file", "file": {"file_id": "file-1"}}])], [HI], ["file of the provider's"]),
    ("a part of tomorrow's", [says("user", [text("Hi"), {"type": "hologram"}])], [HI], ["hologram"]),
    ("names", [says("user", "a", name="Ann"), says("user", "b", name="Bob")], [says("user", [text("a"), text("b")])], ["name"]),
    ("neighbours of a role", [HI, HI, says("assistant", "a"), says("assistant", "b")], [says("user", [text("Hi"), text("Hi")]), says("assistant", [text("a"), text("b")])], []),
    ("a refusal", [HI, says("assistant", None, refusal="No")], [HI, says("assistant", "No")], []),
    ("a refusal as a part", [HI, says("assistant", [{"type": "refusal", "refusal": "No"}])], [HI, says("assistant", "No")], []),
    ("audio of the assistant", [HI, says("assistant", "a", audio={"id": "x"})], [HI, says("assistant", "a")], ["audio"]),
    ("a call and its result", [HI, calls(call(arguments='{"city": "Bonn"}'), content="See"), told()], [HI, says("assistant", [text("See"), use(city="Bonn")]), says("user", [result()])], []),
    ("empty content", [HI, calls(call(), content=""), told("")], [HI, USED, says("user", [result("")])], []),
    ("no arguments", [HI, calls(call(arguments="")), told()], [HI, USED, says("user", [result()])], []),
    ("arguments of null", [HI, calls(call(arguments="null")), told()], [HI, USED, says("user", [result()])], []),
    ("arguments that are an object", [HI, calls(call(arguments={"city": "Bonn"})), told()], [HI, says("assistant", [use(city="Bonn")]), says("user", [result()])], []),
    ("arguments in a fence", [HI, calls(call(arguments='```json\n{"a": 1}\n```')), told()], [HI, says("assistant", [use(a=1)]), says("user", [result()])], []),
    ("arguments quoted", [HI, calls(call(arguments='"{\\"a\\": 1}"')), told()], [HI, says("assistant", [use(a=1)]), says("user", [result()])], []),
    ("arguments with raw line ends", [HI, calls(call(arguments='{"a": "b\nc"}')), told()], [HI, says("assistant", [use(a="b\nc")]), says("user", [result()])], []),
    ("arguments of Python", [HI, calls(call(arguments="{'a': True, }")), told()], [HI, says("assistant", [use(a=True)]), says("user", [result()])], []),
    (
        "results, in one message and in the order of the calls, then the user",
        [HI, calls(call("a"), call("b")), told("B", "b"), told([text("A")], "a"), says("user", "x")],
        [HI, says("assistant", [use("a"), use("b")]), says("user", [result("A", "a"), result("B", "b"), text("x")])],
        [],
    ),
    (
        "results apart from their calls",
        [HI, calls(call("a"), call("b")), told("A", "a"), says("user", "x"), told("B", "b")],
        [HI, says("assistant", [use("a"), use("b")]), says("user", [result("A", "a"), result("B", "b"), text("x")])],
        [],
    ),
    ("a missing result", [HI, calls(call())], [HI, USED, says("user", [result("there is no result of this call.", is_error=True)])], ["had no result"]),
    ("a result without a call", [HI, told()], [says("user", [text("Hi"), text("Result of a tool:"), text("Sunny")])], ["has no call"]),
    ("an image in a result", [HI, calls(call()), told([{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K"}}])], [HI, USED, says("user", [result([PNG])])], []),
    (
        "older words",
        [
            HI,
            *({"role": "assistant", "content": None, "function_call": {"name": "get_weather", "arguments": "{}"}}, {"role": "function", "name": "get_weather", "content": "Sunny"}),
            *({"role": "assistant", "content": None, "function_call": {"name": "get_weather", "arguments": "{}"}}, {"role": "function", "name": "get_weather", "content": "Rain"}),
        ],
        [
            *(HI, says("assistant", [use("call_0")]), says("user", [result("Sunny", "call_0")])),
            *(says("assistant", [use("call_1")]), says("user", [result("Rain", "call_1")])),
        ],
        [],
    ),
    (
        "a freeform call",
        [HI, calls({"id": "c", "type": "custom", "custom": {"name": "patch", "input": 'a"b'}}), told("ok", "c")],
        [HI, says("assistant", [use("c", "patch", input='a"b')]), says("user", [result("ok", "c")])],
        [],
    ),
    ("an id of Kimi's", [HI, calls(call("functions.get_weather:0")), told("ok", "functions.get_weather:0")], [HI, says("assistant", [use(f"toolu_{sha256(b'functions.get_weather:0').hexdigest()[:32]}")]), says("user", [result("ok", f"toolu_{sha256(b'functions.get_weather:0').hexdigest()[:32]}")])], []),
    ("the system later on", [HI, says("system", "Be short")], [HI, says("system", "Be short")], []),
    ("the assistant first", [says("assistant", "Hello"), HI], [says("user", "(The beginning is left out.)"), says("assistant", "Hello"), HI], ["begins with the user"]),
    ("a call first", [calls(call()), told()], [says("user", "(The beginning is left out.)"), USED, says("user", [result()])], ["begins with the user"]),
    ("the system later on, twice", [HI, says("system", "a"), says("system", "b")], [HI, says("system", [text("a"), text("b")])], []),
    ("unsigned reasoning", [HI, says("assistant", "a", reasoning_content="Hm")], [HI, says("assistant", "a")], ["Reasoning"]),
    ("a router's reasoning", [HI, says("assistant", "a", reasoning="Hm", reasoning_details=[{"type": "reasoning.text", "text": "Hm", "signature": "x", "format": "google-gemini-v1"}])], [HI, says("assistant", "a")], ["Reasoning"]),
    (
        "Anthropic's, by a router",
        [HI, says("assistant", "a", reasoning="Hm", reasoning_details=[{"type": "reasoning.text", "text": "Hm", "signature": "x", "format": "anthropic-claude-v1"}, {"type": "reasoning.encrypted", "data": "y", "format": "anthropic-claude-v1"}])],
        [HI, says("assistant", [{"type": "thinking", "thinking": "Hm", "signature": "x"}, {"type": "redacted_thinking", "data": "y"}, text("a")])],
        [],
    ),
    (
        "Anthropic's, sealed by our own writer",
        [
            HI,
            says("assistant", "a", reasoning_content="Hm", reasoning_details=[
                {"type": "reasoning.text", "text": "Hm", "signature": envelope(ReasoningState("signature", "c2ln"))},
                {"type": "reasoning.encrypted", "data": envelope(ReasoningState("redacted", "b64"))},
            ]),
        ],
        [HI, says("assistant", [{"type": "thinking", "thinking": "Hm", "signature": "c2ln"}, {"type": "redacted_thinking", "data": "b64"}, text("a")])],
        [],
    ),
    (
        "Anthropic's, sealed by our own writer and sent back in pieces",
        [
            HI,
            says("assistant", "a", reasoning_details=[
                *({"type": "reasoning.text", "text": piece, "index": 0} for piece in ("H", "m")),
                {"type": "reasoning.text", "signature": envelope(ReasoningState("signature", "c2ln")), "index": 0},
                {"type": "reasoning.text", "text": "So", "index": 1},
                {"type": "reasoning.text", "signature": envelope(ReasoningState("signature", "ZG9z")), "index": 1},
            ]),
        ],
        [HI, says("assistant", [{"type": "thinking", "thinking": "Hm", "signature": "c2ln"}, {"type": "thinking", "thinking": "So", "signature": "ZG9z"}, text("a")])],
        [],
    ),
    (
        "Anthropic's, by a router and sent back in pieces",
        [HI, says("assistant", "a", reasoning_details=[{"type": "reasoning.text", "text": "Hm", "index": 0, "format": "anthropic-claude-v1"}, {"type": "reasoning.text", "signature": "x", "index": 0, "format": "anthropic-claude-v1"}])],
        [HI, says("assistant", [{"type": "thinking", "thinking": "Hm", "signature": "x"}, text("a")])],
        [],
    ),
    ("a broken seal of ours", [HI, says("assistant", "a", reasoning_details=[{"type": "reasoning.text", "text": "Hm", "signature": envelope(ReasoningState("details", "{"))}])], [HI, says("assistant", "a")], ["Reasoning"]),
    ("what OpenAI encrypted, sealed by us", [HI, says("assistant", "a", reasoning_details=[{"type": "reasoning.encrypted", "data": envelope(ReasoningState("encrypted", "{}"))}])], [HI, says("assistant", "a")], ["Reasoning"]),
]  # fmt: skip


def unmarked(value: Any) -> Any:
    """The request without the breakpoints of the cache that are added for a client whose API has none."""
    if isinstance(value, list):
        blocks = [unmarked(entry) for entry in value]
        alone = len(blocks) == 1 and isinstance(blocks[0], dict) and blocks[0].keys() == {"type", "text"}
        return blocks[0]["text"] if alone else blocks
    if isinstance(value, dict):
        return {key: unmarked(inner) for key, inner in value.items() if key != "cache_control"}
    return value


FORMAT = {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA, "strict": True}}
LONG = "x" * 300

# what it is, model, fields of Chat Completions, fields of Anthropic's request (None: not there), words of the notes
FIELDS: list[tuple[str, str, dict[str, Any], dict[str, Any], list[str]]] = [
    ("max_tokens", "m", {"max_tokens": 5}, {"max_tokens": 5}, []),
    ("max_completion_tokens", "m", {"max_tokens": 5, "max_completion_tokens": 6}, {"max_tokens": 6, "max_completion_tokens": None}, []),
    ("no limit", "m", {}, {"max_tokens": 32000}, []),
    ("no limit, for Sonnet", "claude-sonnet-4-5-20250929", {}, {"max_tokens": 64000}, []),
    ("no limit, for Opus 4.1", "claude-opus-4-1-20250805", {}, {"max_tokens": 32000}, []),
    ("no limit, for Haiku 3", "claude-3-haiku-20240307", {}, {"max_tokens": 4096}, []),
    ("too high a limit", "claude-3-haiku-20240307", {"max_tokens": 9999}, {"max_tokens": 4096}, ["9999"]),
    ("system", "m", {"messages": [says("system", "Be"), HI]}, {"system": "Be", "messages": [HI]}, []),
    ("developer", "m", {"messages": [says("developer", "Be"), HI]}, {"system": "Be", "messages": [HI]}, []),
    ("the system alone", "m", {"messages": [says("system", "Be")]}, {"system": None, "messages": [says("user", "Be")]}, ["system alone"]),
    ("the system alone, in two", "m", {"messages": [says("system", "a"), says("developer", "b")]}, {"system": "a", "messages": [says("user", "b")]}, ["system alone"]),
    ("nobody", "m", {"messages": []}, {"system": None, "messages": []}, []),
    ("systems", "m", {"messages": [says("system", "a"), says("developer", [text("b")]), HI]}, {"system": [text("a"), text("b")], "messages": [HI]}, []),
    ("a tool", "m", {"tools": [FUNCTION]}, {"tools": [TOOL]}, []),
    ("strict", "m", {"tools": [{**FUNCTION, "function": {**FUNCTION["function"], "strict": True}}]}, {"tools": [{**TOOL, "input_schema": {**TOOL["input_schema"], "additionalProperties": False}, "strict": True}]}, []),
    ("no parameters", "m", {"tools": [{"type": "function", "function": {"name": "a"}}]}, {"tools": [{"name": "a", "input_schema": {"type": "object", "properties": {}}}]}, []),
    ("functions", "m", {"functions": [FUNCTION["function"]], "function_call": {"name": "get_weather"}}, {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "get_weather"}}, []),
    ("a tool of OpenAI's", "m", {"tools": [{"type": "code_interpreter"}]}, {"tools": None}, ["code_interpreter"]),
    *(
        (f"choice {given}", "m", {"tools": [FUNCTION], "tool_choice": given}, {"tool_choice": {"type": said}}, [])
        for given, said in {"auto": "auto", "required": "any", "none": "none"}.items()
    ),
    ("a chosen tool", "m", {"tools": [FUNCTION], "tool_choice": {"type": "function", "function": {"name": "get_weather"}}}, {"tool_choice": {"type": "tool", "name": "get_weather"}}, []),
    (
        "allowed tools", "m",
        {"tools": [FUNCTION, {"type": "function", "function": {"name": "x"}}], "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "get_weather"}}]}}},
        {"tools": [TOOL], "tool_choice": {"type": "any"}}, [],
    ),
    ("a choice of no tools", "m", {"tool_choice": "required"}, {"tool_choice": None}, []),
    ("one call at a time", "m", {"tools": [FUNCTION], "parallel_tool_calls": False}, {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}, []),
    ("one call at a time, and one at least", "m", {"tools": [FUNCTION], "parallel_tool_calls": False, "tool_choice": "required"}, {"tool_choice": {"type": "any", "disable_parallel_tool_use": True}}, []),
    ("one call at a time, of none", "m", {"tools": [FUNCTION], "parallel_tool_calls": False, "tool_choice": "none"}, {"tool_choice": {"type": "none"}}, []),
    ("calls at a time", "m", {"tools": [FUNCTION], "parallel_tool_calls": True}, {"tool_choice": None}, []),
    ("forced while it thinks", "m", {"tools": [FUNCTION], "tool_choice": "required", "max_tokens": 9000, "reasoning": {"max_tokens": 2000}}, {"tool_choice": {"type": "auto"}, "thinking": {"type": "enabled", "budget_tokens": 2000}}, ["while it thinks"]),
    ("a stop", "m", {"stop": "a"}, {"stop_sequences": ["a"]}, []),
    ("stops", "m", {"stop": ["a", " ", "b"]}, {"stop_sequences": ["a", "b"]}, ["blanks"]),
    ("a temperature", "m", {"temperature": 0.5, "top_p": 0.5}, {"temperature": 0.5, "top_p": 0.5}, []),
    ("too high a temperature", "m", {"temperature": 1.7}, {"temperature": 1}, ["instead of"]),
    ("too low a temperature", "m", {"temperature": -1}, {"temperature": 0}, ["instead of"]),
    ("one sampler", "claude-sonnet-4-5", {"temperature": 0.5, "top_p": 0.5}, {"temperature": 0.5, "top_p": None}, ["top_p"]),
    ("a temperature while it thinks", "m", {"temperature": 0.5, "reasoning": {"max_tokens": 2000}}, {"temperature": None}, ["temperature"]),
    ("a sampler of Anthropic's", "claude-sonnet-4-5", {"top_k": 5}, {"top_k": 5}, []),
    ("a sampler while it thinks", "m", {"top_k": 5, "reasoning": {"max_tokens": 2000}}, {"top_k": None}, ["top_k"]),
    ("a format", "m", {"response_format": FORMAT}, {"output_config": {"format": {"type": "json_schema", "schema": {**SCHEMA, "additionalProperties": False}}}}, []),
    ("a format without a schema", "m", {"response_format": {"type": "json_object"}}, {"output_config": None}, ["json_object"]),
    ("text", "m", {"response_format": {"type": "text"}}, {"output_config": None}, []),
    *(
        (f"effort {given}", "claude-opus-4-6", {"reasoning_effort": given}, {"output_config": {"effort": said}, "thinking": {"type": "adaptive"}}, [] if said == given else [f"{said} instead of {given}"])
        for given, said in {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "max"}.items()
    ),
    ("no effort", "m", {"reasoning_effort": "none"}, {"output_config": None, "thinking": {"type": "disabled"}}, []),
    ("an effort of a model that has none", "claude-sonnet-4-20250514", {"reasoning_effort": "high"}, {"output_config": None, "thinking": {"type": "enabled", "budget_tokens": 24576}}, []),
    ("a router's thinking", "m", {"reasoning": {"enabled": True}}, {"thinking": {"type": "adaptive"}}, []),
    ("thinking of a model that wants a budget", "claude-sonnet-4-20250514", {"reasoning": {"enabled": True}, "max_tokens": 8000}, {"thinking": {"type": "enabled", "budget_tokens": 4000}}, []),
    ("a budget", "m", {"reasoning": {"max_tokens": 2000}, "max_tokens": 9000}, {"thinking": {"type": "enabled", "budget_tokens": 2000}}, []),
    ("too small a budget", "m", {"reasoning": {"max_tokens": 20}, "max_tokens": 9000}, {"thinking": {"type": "enabled", "budget_tokens": 1024}}, []),
    ("too great a budget", "m", {"reasoning": {"max_tokens": 9000}, "max_tokens": 2000}, {"thinking": {"type": "enabled", "budget_tokens": 1999}}, []),
    ("no room for a budget", "m", {"reasoning": {"max_tokens": 2000}, "max_tokens": 500}, {"thinking": {"type": "adaptive"}}, []),
    ("no room for a budget of a model that wants one", "claude-sonnet-4-5", {"reasoning": {"max_tokens": 2000}, "max_tokens": 500}, {"thinking": None}, ["Thinking"]),
    ("a budget without a limit", "m", {"reasoning": {"max_tokens": 20000}}, {"max_tokens": 36000, "thinking": {"type": "enabled", "budget_tokens": 20000}}, []),
    ("DeepSeek's way", "m", {"thinking": {"type": "disabled"}, "reasoning_effort": "high"}, {"thinking": {"type": "disabled"}, "output_config": None}, []),
    ("Qwen's way", "m", {"enable_thinking": True, "thinking_budget": 2000}, {"thinking": {"type": "enabled", "budget_tokens": 2000}}, []),
    ("who asks", "m", {"user": "me"}, {"metadata": {"user_id": "me"}}, []),
    ("who asks, safely", "m", {"safety_identifier": "me"}, {"metadata": {"user_id": "me"}}, []),
    ("who asks, at length", "m", {"user": LONG}, {"metadata": {"user_id": sha256(LONG.encode()).hexdigest()}}, []),
    ("a stream", "m", {"stream": True, "stream_options": {"include_usage": True}}, {"stream": True, "stream_options": None}, []),
    ("one answer", "m", {"n": 1}, {"n": None}, []),
    *(
        (key, "m", {key: value}, {key: None}, [key])
        for key, value in {
            "logprobs": True, "top_logprobs": 2, "seed": 1, "logit_bias": {"1": 1}, "frequency_penalty": 1, "presence_penalty": 1,
            "prediction": {}, "audio": {}, "modalities": ["text"], "store": True, "service_tier": "flex", "verbosity": "low",
            "prompt_cache_retention": "24h", "metadata": {"a": "b"},
        }.items()
    ),
]  # fmt: skip
