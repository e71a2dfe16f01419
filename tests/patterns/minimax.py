"""MiniMax M2 and M3."""

import json

from tests.support.streams import pieces, request, tool

from . import Pattern

TOOLS = (
    tool(
        "read_file", path={"type": "string"}, limit={"type": "integer"}, all={"type": "boolean"},
        deep={"type": "object", "properties": {"n": {"type": "number"}, "s": {"type": "string"}}},
        tags={"type": "array", "items": {"type": "string"}},
    ),
    tool("get_time", zone={"type": "string"}),
    tool("write_file", path={"type": "string"}, content={"type": "string"}),
)  # fmt: skip
REQUEST = request(*TOOLS, model="minimax/minimax-m2")
BOTH = [(None, "read_file", '{"path": "a.md", "limit": 20}'), (None, "get_time", '{"zone": "UTC"}')]
type Calls = list[tuple[str | None, str, str]]

M2 = """<minimax:tool_call>
<invoke name="read_file">
<parameter name="path">a.md</parameter>
<parameter name="limit">20</parameter>
</invoke>
<invoke name="get_time">
<parameter name="zone">UTC</parameter>
</invoke>
</minimax:tool_call>"""
P = "]<]minimax[>["
M3 = f"""{P}<tool_call>
{P}<invoke name="read_file">{P}<path>a.md{P}</path>{P}<limit>20{P}</limit>{P}</invoke>
{P}<invoke name="get_time">{P}<zone>UTC{P}</zone>{P}</invoke>
{P}</tool_call>"""


def m2(text: str, calls: Calls, seed: int, **more: object) -> Pattern:
    return Pattern(REQUEST, pieces(text, seed), calls, **{"rules": ("minimax_m2", "finish_reason"), **more})  # type: ignore[arg-type]


def m3(text: str, calls: Calls, seed: int, **more: object) -> Pattern:
    return Pattern(REQUEST, pieces(text, seed), calls, rules=("minimax_m3", "finish_reason"), **more)  # type: ignore[arg-type]


def prose(text: str, seed: int) -> Pattern:
    return Pattern(REQUEST, pieces(text, seed), content=text, expected_finish="stop")


def write(content: str) -> str:
    return (
        '<minimax:tool_call>\n<invoke name="write_file">\n<parameter name="path">x</parameter>\n'
        f'<parameter name="content">{content}</parameter>\n</invoke>\n</minimax:tool_call>'
    )


def write_m3(content: str) -> str:
    return f'{P}<invoke name="write_file">{P}<path>x{P}</path>{P}<content>{content}{P}</content>{P}</invoke>'


def wrote(content: str) -> Calls:
    return [(None, "write_file", '{"path": "x", "content": ' + json.dumps(content, ensure_ascii=False) + "}")]


HARD = 'a </parameter> b </invoke> c </minimax:tool_call> d <parameter name="x">1</parameter> <invoke name="q"> &amp; é "\n\n'
HARD_M3 = f'a {P}</content> b {P}</x> c {P}<x> d ]<]mini [1] &amp; é "\n\n'

PATTERNS = {
    "m2": m2(f"Let me see.\n{M2}", BOTH, 1, content="Let me see.\n"),
    "m2-quotes": m2(M2.replace('"', "'").replace("'zone'", "zone"), BOTH, 2),
    "m2-other-attributes": m2(M2.replace("<invoke", '<invoke id="1"').replace('">', '" type=\'string\' x=1>'), BOTH, 24),
    "m2-no-newlines-two-wrappers": m2(
        M2.replace("\n", "").replace("</invoke><invoke", "</invoke></minimax:tool_call><minimax:tool_call><invoke"), BOTH, 3
    ),
    "m2-wrapper-missing": m2(M2[20 : M2.index("</minimax")], BOTH, 4, rules=("minimax_invoke", "finish_reason")),
    "m2-wrapper-not-closed": m2(M2.removesuffix("\n</minimax:tool_call>"), BOTH, 5),
    "m2-in-reasoning": m2(f"So.{M2}", BOTH, 6, reasoning="So.", field="reasoning_content"),
    "m2-text-between": m2(
        M2.replace("</invoke>\n<invoke", "</invoke> and <invoke") + " ok", BOTH, 7, content=" and  ok"
    ),
    "m2-types": m2(
        '<minimax:tool_call><invoke name="read_file"><parameter name="all">True</parameter><parameter name="tags">["a", "b"]</parameter>'
        '<parameter name="deep">{"n": 1.50}</parameter><parameter name="limit"> 7 </parameter><parameter name="path">null</parameter></invoke>'
        "</minimax:tool_call>",
        [(None, "read_file", '{"all": true, "tags": ["a", "b"], "deep": {"n": 1.50}, "limit": 7, "path": "null"}')], 8,
    ),
    "m2-no-parameters": m2('<minimax:tool_call><invoke name="get_time"></invoke></minimax:tool_call>', [(None, "get_time", "{}")], 9),
    "m2-own-tags-in-a-value": m2(write(HARD), wrote(HARD), 10),
    "m2-broken-off": Pattern(
        REQUEST, pieces(M2[: M2.index("a.md") + 2], 11), [(None, "read_file", '{"path": "a.')], finish="length",
        expected_finish="length", rules=("minimax_m2",),
    ),
    "m2-end-named-after-the-parameter": m2(M2.replace("a.md</parameter>", "a.md</path>").replace("UTC</parameter>", "UTC</zone>"), BOTH, 30),
    "m2-ends-of-another-dialect": m2(M2.replace("</parameter>", "</arg_value>").replace("</invoke>", "</function>"), BOTH, 31),
    "m2-misspelt-name-attribute": m2(M2.replace("parameter name", "parameter rname"), BOTH, 32),
    "m2-in-prose": prose('Say <minimax:tool_call> first, then <invoke name="f"> or `<invoke name="get_time">`, </invoke>.', 12),
    "m3": m3(f"Let me see.{M3}\nok", BOTH, 20, content="Let me see.\nok"),
    "m3-newlines-no-wrapper": m3(
        M3[len(P) + 12 : M3.rindex(P)].replace(P + "</", "\n" + P + "</").replace("a.md\n", "a.md").replace("20\n", "20").replace("UTC\n", "UTC"), BOTH, 21
    ),
    "m3-no-closers": m3(f'{P}<invoke name="read_file">{P}<path>a.md{P}<limit>20{P}</invoke>', BOTH[:1], 22),
    "m3-nested": m3(
        f'{P}<invoke name="read_file">{P}<deep>{P}<n>1.50{P}</n>{P}<s>12{P}</s>{P}</deep>'
        f"{P}<tags>{P}<item>a{P}</item>{P}<item>7{P}</item>{P}</tags>{P}</invoke>",
        [(None, "read_file", '{"deep": {"n": 1.50, "s": "12"}, "tags": ["a", "7"]}')], 23,
    ),
    "m3-empty-elements": m3(
        f'{P}<invoke name="read_file">{P}<deep>{P}</deep>{P}<tags>{P}</tags>{P}<path>{P}</path>{P}</invoke>',
        [(None, "read_file", '{"deep": {}, "tags": [], "path": ""}')], 24,
    ),
    "m3-no-arguments": m3(f'{P}<invoke name="get_time">{P}</invoke>', [(None, "get_time", "{}")], 25),
    "m3-own-tags-in-a-value": m3(write_m3(HARD_M3), wrote(HARD_M3), 26),
    **{f"m3-closer-in-a-value-{n}": m3(write_m3(text), wrote(text), 40 + n) for n, text in enumerate((
        f"{P}</content>", f"a {P}</invoke>", f"{P}</invoke>{P}</invoke> b", f"{P}</tool_call>\n",
        f'{P}<tool_call>\n{P}<invoke name="get_time">{P}<zone>U{P}</zone>{P}</invoke>\n{P}</tool_call>\nthat',
    ))},
    "m3-members-named-as-parameters": m3(
        f'{P}<invoke name="read_file">{P}<deep>{P}<n>1{P}</n>{P}<limit>2{P}</limit>{P}</deep>{P}<limit>3{P}</limit>{P}</invoke>',
        [(None, "read_file", '{"deep": {"n": 1, "limit": "2"}, "limit": 3}')], 46,
    ),
    "m3-broken-off": Pattern(
        REQUEST, pieces(M3[: M3.index("a.md") + 2], 27), [(None, "read_file", '{"path": "a.')], finish="length",
        expected_finish="length", rules=("minimax_m3",),
    ),
    "m3-in-prose": prose(f"Each tag begins with {P}, as in {P}<tool_call> or {P}<invoke nothing. ]<]mini", 28),
}  # fmt: skip
