"""Recordings of a model whose markup nothing knows."""

import json
from collections.abc import Callable
from typing import Any

type Calls = list[tuple[str, dict[str, Any]]]

S, N = {"type": "string"}, {"type": "integer"}
OFFERED = {
    "read_file": {"type": "object", "properties": {"path": S, "limit": N}, "required": ["path"], "additionalProperties": False},
    "bash": {"type": "object", "properties": {"command": S, "timeout": N}, "required": ["command"]},
    "get_weather": {"type": "object", "properties": {"city": S, "days": N}, "required": ["city"]},
}


def raw(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def each(one: Callable[[str, dict[str, Any], int], str], between: str = "\n", around: tuple[str, str] = ("", "")) -> Callable[[Calls], str]:
    return lambda calls: around[0] + between.join(one(name, given, n) for n, (name, given) in enumerate(calls)) + around[1]


def pairs(form: str, given: dict[str, Any], between: str = "") -> str:
    return between.join(form.format(k=key, K=key.upper(), v=raw(value), j=json.dumps(raw(value))) for key, value in given.items())


WRITERS = {
    "tokens": each(lambda n, a, _: f"<|tool_start|>{n}<|tool_args|>{json.dumps(a)}<|tool_stop|>", ""),
    "tokens in a wrapper": each(lambda n, a, _: f"<|act|>{n}<|in|>{json.dumps(a)}<|/act|>", "", ("<|acts|>", "<|/acts|>")),
    "elements": each(lambda n, a, _: f'<action tool="{n}">\n{pairs('<arg key="{k}">{v}</arg>\n', a)}</action>'),
    "elements named after keys": each(lambda n, a, _: f"<do><what>{n}</what>{pairs('<{k}>{v}</{k}>', a)}</do>"),
    "elements in a wrapper": each(lambda n, a, _: f'<step name="{n}">{pairs('<p n="{k}">{v}</p>', a)}</step>', "\n", ("<plan>\n", "\n</plan>")),
    "attributes": each(lambda n, a, _: f'<use tool="{n}" {pairs("{k}={j}", a, " ")}/>'),
    "lines": each(lambda n, a, _: f"TOOL: {n}\n{pairs('{K}: {v}\n', a)}END"),
    "an envelope": each(lambda n, a, _: f"<run>{json.dumps({'fn': n, 'with': a})}</run>"),
    "an envelope in the open": each(lambda n, a, _: json.dumps({"action_name": n, "action_args": a})),
    "envelopes in an array": lambda calls: f"<calls>{json.dumps([{'func': n, 'kwargs': a} for n, a in calls])}</calls>",
    "ids": each(lambda n, a, i: f'<invoke_tool id="t{i * 7 + 13}" fn="{n}">{json.dumps(a)}</invoke_tool>'),
    "numbers": each(lambda n, a, i: f"[[CALL {n} #{i + 1}]]{json.dumps(a)}[[/CALL]]"),
    "a namespace": each(lambda n, a, _: f"⟦tools/{n}⟧{json.dumps(a)}⟦end⟧"),
    "ends named after tools": each(lambda n, a, _: f"<|{n}|>{json.dumps(a)}<|end_{n}|>"),
    "words": each(lambda n, a, _: f"CALL {n} WITH {json.dumps(a)}"),
    "values in attributes": each(lambda n, a, _: f'<execute name="{n}">{pairs('<argument name="{k}" value={j}/>', a)}</execute>'),
    "lines with signs": each(lambda n, a, _: f">>> tool: {n}\n{pairs('>>> {k} = {v}\n', a)}>>> run"),
    "indented lines": each(lambda n, a, _: f"!tool {n}\n{pairs('  {k}: {v}\n', a)}!end"),
    "an envelope with a string": each(lambda n, a, _: f"<call>{json.dumps({'api': n, 'args_json': json.dumps(a)})}</call>"),
    "numbers in both tags": each(lambda n, a, i: f"<tc:{i + 1}>{n} {json.dumps(a)}</tc:{i + 1}>"),
    "rare brackets": each(lambda n, a, _: f"⟨工具⟩{n}⟨参数⟩{json.dumps(a)}⟨结束⟩", ""),
    "names in quotes": each(lambda n, a, _: f'CALL "{n}" WITH ARGS {json.dumps(a)} ENDCALL'),
    "lines of a list": each(lambda n, a, _: f"ACTION {n}\n{pairs('- {k}: {v}\n', a)}END ACTION"),
    "prompts": each(lambda n, a, _: f"tool> {n}\nargs> {json.dumps(a)}\ndone>"),
    "a namespace in the begin tag": each(lambda n, a, _: f"to=functions.{n} code<|json|>{json.dumps(a)}<|fin|>"),
    "typed elements": each(
        lambda n, a, _: f'<call tool="{n}">{"".join(f'<p name="{k}" type="{type(v).__name__}">{raw(v)}</p>' for k, v in a.items())}</call>'
    ),
    "tokens around values": each(lambda n, a, _: f"<|fn|>{n}<|/fn|>{pairs('<|k|>{k}<|v|>{v}<|/v|>', a)}<|done|>"),
}
SEEN: list[tuple[str, Calls]] = [
    ("I will read it.\n", [("read_file", {"path": "a.md", "limit": 3})]),
    ("", [("bash", {"command": "ls -la", "timeout": 5}), ("read_file", {"path": "src/b.py"})]),
    ("Let me look at the weather first.\n\n", [("get_weather", {"city": "Paris", "days": 2})]),
]
