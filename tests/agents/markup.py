"""How models write a tool call into their text, as data: a way of writing it, and what no user should ever see of it.

Rule of this file: it shares no code with toolmend; the samples of the wire are those of the models' own templates.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

type Arguments = dict[str, Any]


@dataclass(frozen=True)
class Markup:
    """`rule`: what a recording calls the mending. `model`: one that writes so. `marks`: what leaks where nothing is mended.

    `thought`: whether it is also a call inside reasoning; JSON in the open is not. `always`: whether it cannot be mistaken,
    and so is a call with any model.
    """

    rule: str
    model: str
    write: Callable[[str, Arguments], str]
    marks: tuple[str, ...]
    thought: bool = True
    always: bool = True

    def call(self, name: str, arguments: Arguments, turn: int) -> str:
        """The markup of a call; `turn` is its number in the conversation, which Kimi's ids hold."""
        return self.write(name, arguments).replace("COUNTER", str(turn))


def dumps(value: Any) -> str:
    """JSON as models write it."""
    return json.dumps(value, ensure_ascii=False)


def raw(value: Any) -> str:
    """A parameter's text: a string as it is, all else as JSON."""
    return value if isinstance(value, str) else dumps(value)


def each(template: str, arguments: Arguments, text: Callable[[Any], str] = raw) -> str:
    """Every argument by a template with KEY and VALUE."""
    return "".join(template.replace("KEY", key).replace("VALUE", text(value)) for key, value in arguments.items())


def kimi_k2(name: str, arguments: Arguments) -> str:
    call = f"<|tool_call_begin|>functions.{name}:COUNTER<|tool_call_argument_begin|>{dumps(arguments)}<|tool_call_end|>"
    return f"<|tool_calls_section_begin|>{call}<|tool_calls_section_end|>"


def kimi_bare(name: str, arguments: Arguments) -> str:
    return f"<|tool_call_begin|>functions.{name}:COUNTER<|tool_call_argument_begin|>{dumps(arguments)}<|tool_call_end|>"


def kimi_k3(name: str, arguments: Arguments) -> str:
    kinds = {str: "string", int: "number", list: "array", dict: "object", bool: "boolean"}
    inside = "".join(
        f'<|open|>argument key="{key}" type="{kinds[type(value)]}"<|sep|>{raw(value)}<|close|>argument<|sep|>'
        for key, value in arguments.items()
    )
    call = f'<|open|>call tool="{name}" index="1"<|sep|>{inside}<|close|>call<|sep|>'
    return f"<|open|>tools<|sep|>{call}<|close|>tools<|sep|>"


def envelope(name: str, arguments: Arguments) -> str:
    return dumps({"name": name, "arguments": arguments})


def hermes(name: str, arguments: Arguments) -> str:
    return f"<tool_call>\n{envelope(name, arguments)}\n</tool_call>"


def qwen3_coder(name: str, arguments: Arguments) -> str:
    inside = each("<parameter=KEY>\nVALUE\n</parameter>\n", arguments)
    return f"<tool_call>\n<function={name}>\n{inside}</function>\n</tool_call>"


def qwen3_coder_unopened(name: str, arguments: Arguments) -> str:
    return qwen3_coder(name, arguments).removeprefix("<tool_call>\n")


def glm(name: str, arguments: Arguments) -> str:
    inside = each("<arg_key>KEY</arg_key>\n<arg_value>VALUE</arg_value>\n", arguments)
    return f"<tool_call>{name}\n{inside}</tool_call>"


def deepseek_v3(name: str, arguments: Arguments) -> str:
    call = f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{dumps(arguments)}\n```<｜tool▁call▁end｜>"
    return f"<｜tool▁calls▁begin｜>{call}<｜tool▁calls▁end｜>"


def dsml(name: str, arguments: Arguments, bar: str = "｜", block: str = "function_calls") -> str:
    mark = f"{bar}DSML{bar}"
    inside = "".join(
        f'<{mark}parameter name="{key}" string="{str(isinstance(value, str)).lower()}">{raw(value)}</{mark}parameter>\n'
        for key, value in arguments.items()
    )
    return f'<{mark}{block}>\n<{mark}invoke name="{name}">\n{inside}</{mark}invoke>\n</{mark}{block}>'


def dsml_ascii(name: str, arguments: Arguments) -> str:
    return dsml(name, arguments, "||", "tool_calls")


def minimax_m2(name: str, arguments: Arguments) -> str:
    inside = each('<parameter name="KEY">VALUE</parameter>\n', arguments)
    return f'<minimax:tool_call>\n<invoke name="{name}">\n{inside}</invoke>\n</minimax:tool_call>'


def minimax_m3(name: str, arguments: Arguments) -> str:
    tag = "]<]minimax[>["

    def element(value: Any) -> str:
        return "".join(f"{tag}<item>{element(one)}{tag}</item>" for one in value) if isinstance(value, list) else raw(value)

    inside = each(f"{tag}<KEY>VALUE{tag}</KEY>", arguments, element)
    return f'{tag}<tool_call>\n{tag}<invoke name="{name}">{inside}{tag}</invoke>\n{tag}</tool_call>'


def harmony(name: str, arguments: Arguments) -> str:
    return f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{dumps(arguments)}<|call|>"


def mistral(name: str, arguments: Arguments) -> str:
    return f"[TOOL_CALLS]{name}[ARGS]{dumps(arguments)}"


def llama(name: str, arguments: Arguments) -> str:
    return f"<|python_tag|>{dumps({'name': name, 'parameters': arguments})}"


def array(name: str, arguments: Arguments) -> str:
    return f"\n[{envelope(name, arguments)}]\n"


def fence(name: str, arguments: Arguments) -> str:
    return f"\n```json\n{envelope(name, arguments)}\n```\n"


def gemma(name: str, arguments: Arguments) -> str:
    def literal(value: Any) -> str:
        if isinstance(value, list):
            return f"[{','.join(map(literal, value))}]"
        return f'<|"|>{value}<|"|>' if isinstance(value, str) else dumps(value)

    inside = ",".join(f"{key}:{literal(value)}" for key, value in arguments.items())
    return f"<|tool_call>call:{name}{{{inside}}}<tool_call|>"


KIMI, QWEN = "moonshotai/kimi-k2.5", "qwen/qwen3-coder-plus"

MARKUPS = {
    "kimi-k2": Markup("kimi_k2", KIMI, kimi_k2, ("<|tool_call",)),
    "kimi-k2-bare": Markup("kimi_k2", KIMI, kimi_bare, ("<|tool_call",)),
    "kimi-k3": Markup("kimi_k3", "moonshotai/kimi-k3", kimi_k3, ("<|open|>", "<|close|>")),
    "hermes": Markup("hermes", "qwen/qwen3-32b", hermes, ("<tool_call>", "</tool_call>"), always=False),
    "qwen3-coder": Markup("qwen3_coder", QWEN, qwen3_coder, ("<function=", "<parameter=", "</tool_call>"), always=False),
    "qwen3-coder-unopened": Markup("qwen3_coder", QWEN, qwen3_coder_unopened, ("<function=", "<parameter=", "</tool_call>"), always=False),
    "glm": Markup("glm", "z-ai/glm-4.6", glm, ("<arg_key>", "<tool_call>"), always=False),
    "deepseek-v3": Markup("deepseek_v3", "deepseek/deepseek-chat-v3", deepseek_v3, ("tool▁",)),
    "dsml": Markup("dsml", "deepseek/deepseek-v3.2", dsml, ("｜DSML｜",)),
    "dsml-ascii": Markup("dsml", "deepseek/deepseek-v4", dsml_ascii, ("|DSML|",)),
    "minimax-m2": Markup("minimax_m2", "minimax/minimax-m2.5", minimax_m2, ("<minimax", "<invoke")),
    "minimax-m3": Markup("minimax_m3", "minimax/minimax-m3", minimax_m3, ("minimax[",)),
    "harmony": Markup("harmony", "openai/gpt-oss-120b", harmony, ("<|channel|>", "<|message|>", "commentary to=")),
    "mistral": Markup("mistral", "mistralai/devstral-medium", mistral, ("[TOOL_CALLS]", "[ARGS]")),
    "llama": Markup("llama", "meta-llama/llama-3.3-70b-instruct", llama, ("<|python_tag|>",)),
    "json-array": Markup("json_array", "salesforce/xlam-2-70b", array, ('"arguments"',), thought=False, always=False),
    "json-fence": Markup("fence", "qwen/qwen2.5-coder-32b-instruct", fence, ('"arguments"', "```json"), thought=False, always=False),
    "gemma": Markup("gemma4", "google/gemma-4-27b-it", gemma, ("<|tool_call>", '<|"|>')),
}
