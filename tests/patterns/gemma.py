"""Gemma 4, with its tokens and without, and FunctionGemma."""

from typing import Any

from tests.support.streams import pieces, request

from . import Pattern
from .family import TOOLS, dumps, family

type Calls = list[tuple[str, dict[str, Any]]]

GEMMA = "google/gemma-4-31b-it"
REQUEST = request(*TOOLS, model=GEMMA)
READ, TIME = '{"limit": 20, "path": "a.md"}', '{"zone": "UTC"}'
BOTH = [(None, "read_file", READ), (None, "get_time", TIME)]
RULES = ("gemma4", "finish_reason")
STRIPPED = ("gemma_stripped", "finish_reason")
HARD = 'abc},path:1}<tool_call|><|tool_call>call:x{ <|"| "> "\' \\n'
Q = '<|"|>'


def literal(value: Any, quote: str = Q) -> str:
    match value:
        case str():
            return f"{quote}{value}{quote}"
        case dict():
            return f"{{{','.join(f'{key}:{literal(inner, quote)}' for key, inner in value.items())}}}"
        case list():
            return f"[{','.join(literal(inner, quote) for inner in value)}]"
        case _:
            return dumps(value)


def gemma4(calls: Calls) -> str:
    return "".join(f"<|tool_call>call:{name}{literal(given)}<tool_call|>" for name, given in calls)


def functiongemma(calls: Calls) -> str:
    return "".join(f"<start_function_call>call:{name}{literal(given, '<escape>')}<end_function_call>" for name, given in calls)


def stripped(calls: Calls) -> str:
    return "\n".join(f"call:{name}{literal(given)}" for name, given in calls)


def wild(text: str, seed: int, calls: list[tuple[str | None, str, str]] = BOTH, **more: Any) -> Pattern:
    return Pattern(REQUEST, pieces(text, seed), calls, **{"rules": RULES, **more})


def wrote(content: str) -> list[tuple[str | None, str, str]]:
    return [(None, "write_file", dumps({"content": content, "path": "x"}))]


def _never_in_reasoning(patterns: dict[str, Pattern]) -> dict[str, Pattern]:
    return {name: pattern for name, pattern in patterns.items() if not name.endswith("-in-reasoning")}


PATTERNS: dict[str, Pattern] = {
    **family(
        "gemma4", gemma4, HARD, model=GEMMA, rule="gemma4",
        prose="It is <|tool_call>call: and a name, <|tool_call>call:get_time{…}<tool_call|>, or call:get_time{zone:x}; <|tool_ca",
    ),
    **family(
        "functiongemma", functiongemma, HARD.replace("<tool_call|>", "<end_function_call>"), model="google/functiongemma-270m-it",
        prose="<start_function_call> and <start_function_call>call:get_time and <escape> and <end_function_call>, <start_fun",
    ),
    **_never_in_reasoning(
        family(
            "stripped", stripped, HARD, model=GEMMA, rule="gemma_stripped",
            prose="So: call:get_time{zone:UTC} or\ncall:rm{path:/} or\ncall:get_time(zone) or\n`call:get_time{}` or\n"
            "```\ncall:get_time{}\n```\ncall:get_time, call: x, recall:",
        )
    ),
    "no-end-tokens": wild(
        f"<|tool_call>call:read_file{{limit:20,path:{Q}a.md{Q}}}<|tool_call>call:get_time{{zone:{Q}UTC{Q}}}", 2
    ),
    "no-brackets": wild(
        f"<|tool_call>call:get_time<tool_call|><|tool_call> call: get_time {{ zone : {Q}UTC{Q} <tool_call|> ok", 3,
        [(None, "get_time", "{}"), BOTH[1]], content=" ok",
    ),
    "surplus-bracket": wild(f"<|tool_call>call:get_time{{zone:{Q}UTC{Q}}}}}<tool_call|>", 4, BOTH[1:]),
    "opener-six-times": wild("<|tool_call>" * 6 + f"call:get_time{{zone:{Q}UTC{Q}}}<tool_call|>", 15, BOTH[1:], content="<|tool_call>" * 2),
    "opener-twice": wild(f"<|tool_call>\n<|tool_call>call:get_time{{zone:{Q}UTC{Q}}}<tool_call|><tool_call|>", 5, BOTH[1:]),
    "keys-in-quotes": wild(
        f'<|tool_call>call:read_file{{{Q}deep{Q}:{{{Q}3{Q}:1,"b c":[],\'d\':2}},limit:1.50}}<tool_call|>', 6,
        [(None, "read_file", '{"deep": {"3": 1, "b c": [], "d": 2}, "limit": 1.50}')],
    ),
    "keys-with-blanks-and-words": wild(
        "<|tool_call>call:read_file{deep:{Basic LLM Chain:[true,None,-1e3,null],my key : False},path:a.md}<tool_call|>", 7,
        [(None, "read_file", '{"deep": {"Basic LLM Chain": [true, null, -1e3, null], "my key": false}, "path": "a.md"}')],
    ),
    "python-quotes": wild(
        """<|tool_call>call:read_file{limit:20,path:'a.md'}<tool_call|><|tool_call>call:get_time{"zone":"U\\u0054C"}<tool_call|>""", 8
    ),
    "drifted": wild(
        '<|tool_call|>call:read_file({"limit": 20, "path": "a.md"})<tool_call|><|tool_call|>call:get_time({})<tool_call|>', 9,
        [BOTH[0], (None, "get_time", "{}")],
    ),
    "drifted-key-equals-value": wild(
        f"<|tool_call>call:read_file(limit=20, path={Q}a.md{Q})<tool_call|>\n<|tool_call>call:get_time(zone='UTC')\n", 10
    ),
    "equals-for-colon": wild("<|tool_call>call:read_file{limit:20,path='a.md'}<tool_call|>", 11, BOTH[:1]),
    "an-envelope": wild(
        '<|tool_call>{"name": "read_file", "arguments": {"limit": 20, "path": "a.md"}}<tool_call|><|tool_call>[{"name": "get_time", "args": {"zone": "UTC"}}]'
        "<|/tool_call|> ok", 18, content=" ok",
    ),
    "call-missing": wild(
        f"<|tool_call>read_file{{limit:20,path:{Q}a.md{Q}}}<tool_call|><|tool_call|>get_time(zone='UTC')<|/tool_call|>", 19
    ),
    "call-missing-of-no-tool": Pattern(REQUEST, [text := "<|tool_call>rm{path:/}<tool_call|>"], content=text, expected_finish="stop"),
    "hermes": wild(  # as templates have it that others made for Gemma 3
        '<tool_call>\n{"name": "get_time", "args": {"zone": "UTC"}}\n</tool_call>', 20, BOTH[1:], rules=("hermes", "finish_reason"),
    ),
    "other-tool": wild("<|tool_call>call:rm-all.now{}<tool_call|>", 12, [(None, "rm-all.now", "{}")]),
    "not-closed-string": wild(
        f"<|tool_call>call:get_time{{zone:{Q}UTC{Q} now}}<tool_call|>", 13, [(None, "get_time", '{"zone": "UTC"')],
        content="now}<tool_call|>",
    ),
    "stripped-strings-too": wild(
        "Sure!\ncall:read_file{limit:20,path:a.md} call:get_time{zone:UTC}\nDone.", 14, content="Sure!\n\nDone.", rules=STRIPPED
    ),
    "stripped-text-up-to-the-next-key": wild(
        'call:write_file{content:if (a) { b, c: d; }\necho "}", e,path:x}', 15, wrote('if (a) { b, c: d; }\necho "}", e'), rules=STRIPPED
    ),
    "stripped-text-that-looks-like-a-number": wild(
        "call:get_time{zone:007}\ncall:get_time{zone:12}\ncall:get_time{zone:}", 16,
        [(None, "get_time", '{"zone": "007"}'), (None, "get_time", '{"zone": "12"}'), (None, "get_time", '{"zone": ""}')], rules=STRIPPED,
    ),
    "stripped-never-in-reasoning": Pattern(
        REQUEST, pieces("call:get_time{zone:UTC}\n", 17), field="reasoning_content", reasoning="call:get_time{zone:UTC}\n",
        expected_finish="stop",
    ),
}  # fmt: skip
