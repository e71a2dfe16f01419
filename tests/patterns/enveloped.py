"""Dialects that are JSON envelopes behind tokens of their own: Llama, Granite, Phi, InternLM, Jamba, Cohere, GigaChat, LongCat."""

from typing import Any

from tests.support.streams import pieces, request

from . import Pattern
from .family import TOOLS, dumps, family

type Calls = list[tuple[str, dict[str, Any]]]


def envelopes(calls: Calls, arguments: str = "arguments", name: str = "name") -> list[str]:
    return [dumps({name: tool, arguments: given}) for tool, given in calls]


def array(calls: Calls, *keys: str) -> str:
    return f"[{', '.join(envelopes(calls, *keys))}]"


def inkling(calls: Calls) -> str:
    return "".join(
        f"<|message_model|>{name}<|content_invoke_tool_json|>{dumps({'name': name, 'args': given})}<|end_message|>"
        for name, given in calls
    )


def cohere(calls: Calls) -> str:
    return f"<|START_ACTION|>\n{array(calls, 'parameters', 'tool_name')}\n<|END_ACTION|>"


def plamo3(call: tuple[str, dict[str, Any]]) -> str:
    words = ("begin_tool_request", "begin_tool_name", "end_tool_name", "begin_tool_arguments", "end_tool_arguments", "end_tool_request")
    begin, name, named, arguments, argued, end = (f"<|plamo:{word}:plamo|>" for word in words)
    return f"{begin}{name}{call[0]}{named}\n{arguments}{dumps(call[1])}{argued}{end}"


EXPECTED: list[tuple[str | None, str, str]] = [(None, "read_file", '{"path": "a.md", "limit": 20}'), (None, "get_time", '{"zone": "UTC"}')]

PATTERNS: dict[str, Pattern] = {
    **family(
        "llama", lambda calls: "<|python_tag|>" + "; ".join(envelopes(calls, "parameters")), "a <|python_tag|> b; {c",
        model="meta-llama/llama-3.3-70b", prose="It writes <|python_tag|> first, then {json}; or <|python_",
    ),
    "llama-functions": Pattern(
        request(*TOOLS, model="meta-llama/llama-3.3-70b"),
        pieces('I look.\n<function=read_file>{"path": "a.md", "limit": 20}</function>\n<function=get_time {"zone": "UTC"}</function>', 1),
        EXPECTED, content="I look.\n", rules=("qwen3_coder", "finish_reason"),
    ),
    "llama-functions-in-prose": Pattern(
        request(*TOOLS, model="meta-llama/llama-3.3-70b"), [text := "It is <function=read_file> or <function=rm>{}</function>, <function={x}>."],
        content=text, expected_finish="stop",
    ),
    **family(
        "granite", lambda calls: "<|tool_call|>" + array(calls), "a <|tool_call|>[ b ]",
        model="ibm-granite/granite-3.0-8b", prose="Granite writes <|tool_call|> and a list [1].",
    ),
    **family(
        "granite-20b", lambda calls: "\n".join(f"<function_call> {call}" for call in envelopes(calls)), "a <function_call> {b",
        model="ibm-granite/granite-20b", rule="granite", prose="Or <function_call> as in `<function_call> {`.",
    ),
    "phi-tokens": Pattern(
        request(*TOOLS, model="microsoft/phi-4-mini"),
        pieces('<|tool_call|>[{"name": "read_file", "arguments": {"path": "a.md", "limit": 20}}, {"name": "get_time", "arguments": {"zone": "UTC"}}]<|/tool_call|> ok', 1),
        EXPECTED, content=" ok", rules=("granite", "finish_reason"),
    ),
    **family(
        "phi", lambda calls: "functools" + array(calls), 'a functools[{"b]',
        model="microsoft/phi-4-mini", prose="import functools; functools[0], functools.cache, functo",
    ),
    **family(
        "internlm",
        lambda calls: "\n".join(f"<|action_start|> <|plugin|>\n{call}<|action_end|>" for call in envelopes(calls, "parameters")),
        "a <|action_end|> b <|plugin|>", model="internlm/internlm2_5", prose="Around it <|action_start|><|plugin|> and <|action_end|>.",
    ),
    **family(
        "jamba", lambda calls: f"<tool_calls>{array(calls)}</tool_calls>", "a </tool_calls> b <tool_calls>[",
        model="ai21/jamba-1.5", prose="In <tool_calls> stands a list, </tool_calls> ends it.",
    ),
    **family(
        "cohere", cohere, "a <|END_ACTION|> b ]", model="cohere/command-r", prose="<|START_ACTION|> begins, <|END_ACTION|> ends.",
    ),
    **family(
        "apertus",
        lambda calls: "<|tools_prefix|>[" + ", ".join(dumps({tool: given}) for tool, given in calls) + "]<|tools_suffix|>",
        "a <|tools_suffix|> b }]", model="swiss-ai/apertus-70b", prose="<|tools_prefix|> begins, <|tools_suffix|> ends [it].",
    ),
    **family(
        "plamo3", lambda calls: "\n".join(map(plamo3, calls)), "a <|plamo:end_tool_arguments:plamo|> b",
        model="pfnet/plamo-3", prose="<|plamo:begin_tool_request:plamo|> begins.",
    ),
    **family(
        "inkling",
        inkling,
        "a <|end_message|> b <|message_model|>", model="inkling", prose="<|message_model|>name<|content_invoke_tool_json|> begins.",
    ),
    **family(
        "gigachat", lambda calls: "".join(f"<|function_call|>{call}" for call in envelopes(calls)), "a <|function_call|>{ b",
        model="ai-sage/gigachat3", prose="A function call is <|function_call|> and JSON.",
    ),
    **family(
        "longcat",
        lambda calls: "\n".join(f"<longcat_tool_call>\n{call}\n</longcat_tool_call>" for call in envelopes(calls)),
        "a </longcat_tool_call> b", model="meituan/longcat-flash", prose="LongCat has <longcat_tool_call> and </longcat_tool_call>.",
    ),
}  # fmt: skip
