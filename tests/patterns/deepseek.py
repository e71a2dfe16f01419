"""DeepSeek: DSML in its spellings, V3 and V3.1."""

import json
import re

from tests.support.streams import pieces, request, tool

from . import Pattern

TOOLS = (
    tool("read_file", path={"type": "string"}, limit={"type": "integer"}, deep={"type": "object"}, tags={"type": "array"}),
    tool("get_time", zone={"type": "string"}),
    tool("write_file", path={"type": "string"}, content={"type": "string"}),
)
REQUEST = request(*TOOLS, model="deepseek/deepseek-v3.2")
READ = '{"path": "a.md", "limit": 20}'
TIME = '{"zone": "UTC"}'
BOTH = [(None, "read_file", READ), (None, "get_time", TIME)]

DSML = """<｜DSML｜function_calls>
<｜DSML｜invoke name="read_file">
<｜DSML｜parameter name="path" string="true">a.md</｜DSML｜parameter>
<｜DSML｜parameter name="limit" string="false">20</｜DSML｜parameter>
</｜DSML｜invoke>
<｜DSML｜invoke name="get_time">
<｜DSML｜parameter name="zone" string="true">UTC</｜DSML｜parameter>
</｜DSML｜invoke>
</｜DSML｜function_calls>"""
V3 = """<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file
```json
{"path": "a.md", "limit": 20}
```<｜tool▁call▁end｜>
<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_time
```json
{"zone": "UTC"}
```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"""
V31 = (
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{"path": "a.md", "limit": 20}<｜tool▁call▁end｜>'
    '<｜tool▁call▁begin｜>get_time<｜tool▁sep｜>{"zone": "UTC"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
)


def dsml(text: str, calls: list[tuple[str | None, str, str]], seed: int, **more: object) -> Pattern:
    return Pattern(REQUEST, pieces(text, seed), calls, rules=("dsml", "finish_reason"), **more)  # type: ignore[arg-type]


def v3(text: str, calls: list[tuple[str | None, str, str]], seed: int, **more: object) -> Pattern:
    return Pattern(REQUEST, pieces(text, seed), calls, rules=("deepseek_v3", "finish_reason"), **more)  # type: ignore[arg-type]


def prose(text: str, seed: int) -> Pattern:
    return Pattern(REQUEST, pieces(text, seed), content=text, expected_finish="stop")


def bars(text: str, bar: str) -> str:
    return text.replace("｜", bar)


def write(content: str) -> str:
    return (
        f'<｜DSML｜tool_calls><｜DSML｜invoke name="write_file"><｜DSML｜parameter name="path" string="true">x</｜DSML｜parameter>'
        f'<｜DSML｜parameter name="content" string="true">{content}</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>'
    )


def wrote(content: str) -> list[tuple[str | None, str, str]]:
    return [(None, "write_file", '{"path": "x", "content": ' + json.dumps(content, ensure_ascii=False) + "}")]


PATTERNS = {
    "dsml-v32": dsml(f"Let me see.\n\n{DSML}", BOTH, 1, content="Let me see.\n\n"),
    "dsml-v4-in-reasoning": dsml(
        f"Hm.{DSML.replace('function_calls', 'tool_calls')}", BOTH, 2, reasoning="Hm.", field="reasoning_content"
    ),
    "dsml-v41-blanks": dsml(DSML.replace("DSML｜", "DSML｜ ").replace("function_calls", "calls"), BOTH, 3),
    "dsml-double-bars": dsml(bars(DSML, "｜｜"), BOTH, 4),
    "dsml-ascii-bars": dsml(bars(DSML, "|") + "\nDone.", BOTH, 5, content="\nDone."),
    "dsml-ascii-double-bars": dsml(bars(DSML, "||"), BOTH, 6),
    "dsml-other-bars-split": Pattern(
        REQUEST, ["<‖DS", bars(DSML, "‖")[4:]], BOTH, rules=("dsml", "finish_reason"),
    ),
    "dsml-spaced": dsml(bars(DSML, "|").replace("|DSML|", " | DSML | ").replace("function_calls", "tool_use"), BOTH, 7),
    "dsml-attributes-in-another-order": dsml(re.sub(r'(name="\w+") (string="\w+")', r'\2 type="x" \1', DSML), BOTH, 24),
    "dsml-no-block": dsml(DSML[DSML.index("<｜DSML｜invoke") : DSML.index("</｜DSML｜function")], BOTH, 8),
    "dsml-block-not-closed": dsml(DSML.removesuffix("\n</｜DSML｜function_calls>"), BOTH, 9),
    "dsml-types-by-schema": dsml(
        '<｜DSML｜tool><｜DSML｜invoke name="read_file"><｜DSML｜parameter name="limit">20</｜DSML｜parameter>'
        '<｜DSML｜parameter name="deep">{"a": [1.0]}</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool>',
        [(None, "read_file", '{"limit": 20, "deep": {"a": [1.0]}}')], 10,
    ),
    "dsml-json-that-is-none": dsml(
        '<｜DSML｜invoke name="read_file"><｜DSML｜parameter name="tags" string="false">[a, b</｜DSML｜parameter></｜DSML｜invoke>',
        [(None, "read_file", '{"tags": "[a, b"}')], 11,
    ),
    "dsml-json-body": dsml('<｜DSML｜invoke name="get_time">\n{"zone": "UTC"}\n</｜DSML｜invoke>', [BOTH[1]], 12),
    "dsml-no-parameters": dsml('<｜DSML｜invoke name="get_time">\n</｜DSML｜invoke>', [(None, "get_time", "{}")], 13),
    "dsml-arguments-in-one-parameter": dsml(
        '<｜DSML｜invoke name="get_time"><｜DSML｜parameter name="arguments" string="false">{"zone": "UTC"}</｜DSML｜parameter></｜DSML｜invoke>',
        [BOTH[1]], 14,
    ),
    "dsml-no-parameter-end": dsml(
        '<｜DSML｜invoke name="read_file"><｜DSML｜parameter name="path" string="true">a.md<｜DSML｜parameter name="limit" string="false">20'
        "</｜DSML｜parameter></｜DSML｜invoke>", [BOTH[0]], 15,
    ),
    "dsml-end-tags-in-a-value": dsml(
        write(" a </｜DSML｜parameter> b </｜DSML｜invoke> c\n</｜DSML｜tool_calls> d "),
        wrote(" a </｜DSML｜parameter> b </｜DSML｜invoke> c\n</｜DSML｜tool_calls> d "), 16,
    ),
    "dsml-markup-in-a-value": dsml(write('<a href="x">&amp; 1 < 2 \\n\t"é🌤"</a>\n'), wrote('<a href="x">&amp; 1 < 2 \\n\t"é🌤"</a>\n'), 17),
    "dsml-broken-off": Pattern(
        REQUEST, pieces(DSML[: DSML.index("a.md") + 3], 18), [(None, "read_file", '{"path": "a.m')], finish="length", expected_finish="length", rules=("dsml",),
    ),
    "dsml-misspelt-parameter-end": dsml(DSML.replace("</｜DSML｜parameter>", "</｜DSML｜paramter>"), BOTH, 44),
    "dsml-parameter-end-without-its-mark": dsml(DSML.replace("</｜DSML｜parameter>", "</parameter>"), BOTH, 45),
    "dsml-in-prose": prose('DSML marks are `<｜DSML｜`, as in <｜DSML｜invoke name="…">, <|DSML|tool_calls> and </｜DSML｜invoke>; a < | b', 19),
    "v3": v3(f"Let me see.\n{V3}", BOTH, 30, content="Let me see.\n"),
    "v31": v3(V31, BOTH, 31),
    "v31-text-behind": v3(V31 + " ok", BOTH, 32, content=" ok"),
    "v3-ascii": v3(V3.replace("｜", "|").replace("▁", "_"), BOTH, 33),
    "v3-escaped-underscores": v3(V3.replace("▁", "\\_"), BOTH, 34),
    "v31-blanks": v3(V31.replace("▁", " "), BOTH, 35),
    "v31-ascii-no-wrapper-newlines": v3(
        V31.replace("｜", "|").replace("▁", "_").removeprefix("<|tool_calls_begin|>").replace("<|tool_call_end|>", "\n<|tool_call_end|>\n"), BOTH, 36
    ),
    "v3-fence-without-json": v3(V3.replace("```json", "```"), BOTH, 37),
    "v3-no-fence": v3(V3.replace("```json\n", "").replace("\n```", ""), BOTH, 38),
    "v31-no-call-end": v3(V31.replace("<｜tool▁call▁end｜>", ""), BOTH, 39),
    "v31-empty": v3("<｜tool▁call▁begin｜>get_time<｜tool▁sep｜>{}<｜tool▁call▁end｜>", [(None, "get_time", "{}")], 40),
    "v31-tokens-in-a-string": v3(
        '<｜tool▁call▁begin｜>get_time<｜tool▁sep｜>{"zone": "<｜tool▁call▁end｜> ``` <｜tool▁sep｜>"}<｜tool▁call▁end｜>',
        [(None, "get_time", '{"zone": "<｜tool▁call▁end｜> ``` <｜tool▁sep｜>"}')], 41,
    ),
    "v31-broken-off": Pattern(
        REQUEST, pieces(V31[:80], 42), [(None, "read_file", V31[V31.index("{") : 80])], finish="length", expected_finish="length",
        rules=("deepseek_v3",),
    ),
    "v3-in-prose": prose("It writes <｜tool▁calls▁begin｜>, then <｜tool▁call▁begin｜>function<｜tool▁sep｜> and so on. <｜tool", 43),
}  # fmt: skip
