"""Python lists: Llama in the open and between its tokens, Olmo 3, LFM2."""

from typing import Any

from tests.support.streams import pieces, request, tool

from . import Pattern
from .family import TOOLS, family

type Calls = list[tuple[str, dict[str, Any]]]

LLAMA = "meta-llama/llama-4-scout"
REQUEST = request(*TOOLS, tool("web-search.find_all", query={"type": "string"}), model=LLAMA)
READ, TIME = '{"path": "a.md", "limit": 20}', '{"zone": "UTC"}'
BOTH = [(None, "read_file", READ), (None, "get_time", TIME)]
RULES = ("python_list", "finish_reason")
HARD = """abc)], get_time(zone="x")] [f(a='b')] 'c' \\" \\\\n \\ """


def call(name: str, arguments: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def listed(calls: Calls) -> str:
    return f"[{', '.join(call(*each) for each in calls)}]"


def llama(calls: Calls) -> str:
    return f"<|python_start|>{listed(calls)}<|python_end|>"


def olmo3(calls: Calls) -> str:
    return "<function_calls>\n" + "\n".join(call(*each) for each in calls) + "\n</function_calls>"


def lfm2(calls: Calls) -> str:
    return f"<|tool_call_start|>{listed(calls)}<|tool_call_end|>"


def wild(text: str, seed: int, calls: list[tuple[str | None, str, str]] = BOTH, **more: Any) -> Pattern:
    return Pattern(REQUEST, pieces(text, seed), calls, **{"rules": RULES, **more})


def prose(text: str, seed: int, **more: Any) -> Pattern:
    return Pattern(REQUEST, pieces(text, seed), **{"content": text, "expected_finish": "stop", **more})


def written(text: str) -> list[tuple[str | None, str, str]]:
    """A call of write_file whose `content` is this JSON text."""
    return [(None, "write_file", f'{{"content": {text}}}')]


def _never_in_reasoning(patterns: dict[str, Pattern]) -> dict[str, Pattern]:
    return {name: pattern for name, pattern in patterns.items() if not name.endswith("-in-reasoning")}


PATTERNS: dict[str, Pattern] = {
    **_never_in_reasoning(
        family(
            "bare", listed, HARD, model=LLAMA, rule="python_list",
            prose="Use [read_file(path)] or\n[get_time(zone) for zone in zones],\n[get_time(zone=zone)] and `[get_time()]`:\n"
            "```\n[get_time(zone='UTC')]\n```\n[get_time()[0]], [rm(path='/')], [link](x), [x] a[0](b=1) [",
        )
    ),
    **family(
        "llama", llama, HARD + "<|python_end|>", model=LLAMA, rule="llama_python",
        prose="Between <|python_start|> and <|python_end|>: <|python_start|>print('x')<|python_end|>, <|python_sta",
    ),
    **family(
        "olmo3", olmo3, HARD + "\n</function_calls>", model="allenai/olmo-3-32b-think", rule="olmo3",
        prose="It writes <function_calls> and </function_calls>.\n<function_calls>\nget_time(zone)\n</function_calls> <function_c",
    ),
    **family(
        "lfm2", lfm2, HARD + "<|tool_call_end|>", model="liquid/lfm2-8b-a1b", rule="lfm2",
        prose="<|tool_call_start|>[] and <|tool_call_start|>[get_time]<|tool_call_end|> are none, nor <|tool_call_s",
    ),
    "newlines-and-no-bracket": wild(
        "[\n  read_file(\n    path = 'a.md',\n    limit = 20,\n  ),\n  get_time(\n    zone='UTC'\n  )\n", 1
    ),
    "words-and-numbers": wild(
        "[read_file(a=True, b=false, c=None, d=null, e=-2.50, f=1e3, g=0x1F, h=1_000, i=(1, 'x'), j=(2,), k=(), l=[[], {}])]", 2,
        [(None, "read_file", '{"a": true, "b": false, "c": null, "d": null, "e": -2.50, "f": 1e3, "g": 31, "h": 1000, "i": [1, "x"], "j": [2], "k": [], "l": [[], {}]}')],
    ),
    "triple-quotes": wild(
        '[write_file(content="""def f():\n    """ ' + "\n, path='')]", 3,
        [(None, "write_file", '{"content": "def f():\\n    ", "path": ""}')],
    ),
    "escapes": wild(
        r"""[write_file(content='\x41\u00e9\ud83c\udf24\U0001f324\n\t\\n\'\"\q\0')]""", 4,
        written(r'''"Aé\ud83c\udf24🌤\n\t\\n'\"\\q\u0000"'''),
    ),
    "raw-string": wild(r"""[write_file(content=r'\d+\n\'')]""", 5, written(r'''"\\d+\\n\\'"''')),
    "apostrophe": wild("[write_file(content='It's a \"b\"')]", 6, written(r'''"It's a \"b\""''')),
    "name-with-minus-and-dot": wild(
        "[web-search.find_all(query='a'), functions.get_time(zone='UTC')]", 7,
        [(None, "web-search.find_all", '{"query": "a"}'), BOTH[1]],
    ),
    "two-lists": wild("[read_file(path='a.md', limit=20)]\n[get_time(zone='UTC')] ok", 8, content=" ok"),
    "not-offered": wild("[get_time(zone='UTC'), rm(path='/')]", 9, BOTH[1:], content=", rm(path='/')]"),
    "never-in-reasoning": prose(
        "[get_time(zone='UTC')] might do", 10, field="reasoning_content", content="", reasoning="[get_time(zone='UTC')] might do"
    ),
    "code-behind-the-first": Pattern(
        REQUEST, pieces("[read_file(path='a', limit=len(x))]", 11), [(None, "read_file", '{"path": "a", "limit": "len"')],
        content="(x))]", rules=RULES,
    ),
    "llama-missing-ends": wild("<|python_start|>[read_file(path='a.md', limit=20), get_time(zone='UTC')", 12, rules=("llama_python", RULES[1])),
    "llama-opener-twice-and-json": wild(
        '<|python_start|> <|python_start|>{"name": "get_time", "parameters": ' + TIME + "}<|python_end|>", 13, BOTH[1:],
        rules=("llama_python", RULES[1]),
    ),
    "olmo3-one-line-and-words": wild(
        "<function_calls>read_file(path='a.md', limit=20), get_time(zone=UTC)</function_calls> ok", 14, content=" ok",
        rules=("olmo3", RULES[1]),
    ),
    "lfm2-json": wild(
        '<|tool_call_start|>[{"name": "read_file", "arguments": ' + READ + '}, {"name": "get_time", "arguments": ' + TIME + "}]"
        "<|tool_call_end|>", 15, rules=("lfm2", RULES[1]),
    ),
}  # fmt: skip
