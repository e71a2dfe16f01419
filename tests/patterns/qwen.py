"""Qwen: Hermes envelopes and the XML of Qwen3-Coder."""

import json
import re

from tests.support.streams import META, pieces, request, tool

from . import Pattern

REQUEST = request(
    tool("read_file", path={"type": "string"}, limit={"type": "integer"}, deep={"type": "object"}, all={"type": "boolean"}),
    tool("get_time", zone={"type": "string"}),
    tool("write_file", path={"type": "string"}, content={"type": "string"}),
    model="qwen/qwen3-coder-480b",
)
READ = '{"path": "a.md", "limit": 20}'
TIME = '{"zone": "UTC"}'
BOTH = [(None, "read_file", READ), (None, "get_time", TIME)]

H = '<tool_call>\n{"name": "read_file", "arguments": ' + READ + '}\n</tool_call>\n<tool_call>\n{"name": "get_time", "arguments": ' + TIME + "}\n</tool_call>"
X = """<tool_call>
<function=read_file>
<parameter=path>
a.md
</parameter>
<parameter=limit>
20
</parameter>
</function>
</tool_call>
<tool_call>
<function=get_time>
<parameter=zone>
UTC
</parameter>
</function>
</tool_call>"""

HERMES = ("hermes", "finish_reason")
NAMED = ("qwen3_named", "finish_reason")
XML = ("qwen3_coder", "finish_reason")


def named(markup: str, tags: str = "function|parameter") -> str:
    return re.sub(rf"<({tags})=(\w+)>", r'<\1 name="\2">', markup)


def write(content: str) -> str:
    return f"<tool_call>\n<function=write_file>\n<parameter=path>\nx\n</parameter>\n<parameter=content>\n{content}\n</parameter>\n</function>\n</tool_call>"


def wrote(content: str) -> list[tuple[str | None, str, str]]:
    return [(None, "write_file", '{"path": "x", "content": ' + json.dumps(content, ensure_ascii=False) + "}")]


def hermes(text: str, calls: list, n: int, **more) -> Pattern:  # type: ignore[no-untyped-def, type-arg]
    return Pattern(REQUEST, pieces(text, n), calls, rules=HERMES, **more)


def xml(text: str, calls: list, n: int, **more) -> Pattern:  # type: ignore[no-untyped-def, type-arg]
    return Pattern(REQUEST, pieces(text, n), calls, rules=XML, **more)


def prose(text: str, n: int, **more) -> Pattern:  # type: ignore[no-untyped-def]
    return Pattern(REQUEST, pieces(text, n), content=text, expected_finish="stop", **more)


PATTERNS = {
    "hermes-two": hermes(f"Let me see.\n\n{H}", BOTH, 1, content="Let me see.\n\n"),
    "hermes-no-newlines-no-end": hermes('<tool_call>{"name": "get_time", "arguments": ' + TIME + "}", [BOTH[1]], 2),
    "hermes-arguments-first": hermes('<tool_call>{"arguments": ' + TIME + ', "name": "get_time"}</tool_call>', [BOTH[1]], 3),
    "hermes-parameters-and-id": hermes(
        '<tool_call>{"id": "c7", "function": {"name": "get_time", "parameters": ' + TIME + "}}</tool_call>",
        [("c7", "get_time", TIME)], 4,
    ),
    "hermes-arguments-in-a-string": hermes(
        '<tool_call>{"name": "get_time", "arguments": "{\\"zone\\": \\"UTC\\"}"}</tool_call>', [BOTH[1]], 5
    ),
    "hermes-no-arguments": hermes('<tool_call>{"name": "get_time"}</tool_call>', [(None, "get_time", "{}")], 6),
    "hermes-null-arguments": hermes('<tool_call>{"name": "get_time", "arguments": null}</tool_call>', [(None, "get_time", "{}")], 7),
    "hermes-array-in-one-pair-of-tags": hermes(
        '<tool_call>[{"name": "read_file", "arguments": ' + READ + '}, {"name": "get_time", "arguments": ' + TIME + "}]</tool_call>",
        BOTH, 8,
    ),
    "hermes-two-in-one-pair-of-tags": hermes(
        '<tool_call>\n{"name": "read_file", "arguments": ' + READ + '}\n{"name": "get_time", "arguments": ' + TIME + "}\n</tool_call> ok",
        BOTH, 9, content=" ok",
    ),
    "hermes-in-a-fence-in-the-tags": hermes(H.replace("<tool_call>", "<tool_call>\n```json").replace("</tool_call>", "```\n</tool_call>") + " ok", BOTH, 57, content=" ok"),
    "hermes-in-a-fence-in-the-tags-no-call": prose("<tool_call>\n```json\n{}\n```\n</tool_call>", 58),
    "hermes-brace-missing": hermes('<tool_call>{"name": "get_time", "arguments": ' + TIME + "</tool_call>", [BOTH[1]], 10),
    "hermes-brace-surplus": hermes('<tool_call>{"name": "get_time", "arguments": ' + TIME + "}}</tool_call>", [BOTH[1]], 11),
    "hermes-opener-twice": hermes('<tool_call>\n<tool_call>{"name": "get_time", "arguments": ' + TIME + "}</tool_call>", [BOTH[1]], 12),
    "hermes-raw-newlines": hermes(
        '<tool_call>{"name": "get_time", "arguments": {"zone": "a\n\tb"}}</tool_call>', [(None, "get_time", '{"zone": "a\\n\\tb"}')], 13
    ),
    "hermes-backslashes-that-escape-nothing": hermes(
        '<tool_call>{"name": "get_time", "arguments": {"zone": "\\w+ \\\\w"}}</tool_call>', [(None, "get_time", r'{"zone": "\\w+ \\w"}')], 24
    ),
    "hermes-arguments-first-backslashes": hermes(
        '<tool_call>{"arguments": {"zone": "\\w"}, "name": "get_time"}</tool_call>', [(None, "get_time", r'{"zone": "\\w"}')], 25
    ),
    "hermes-as-python-has-it": hermes(
        """<tool_call>{'id': 'c8', 'name': 'read_file', 'arguments': {'path': 'it\\'s "x"\\\\', 'all': True, 'deep': {'a': [None, 'é\\n']},}}</tool_call>""",
        [("c8", "read_file", r"""{"path": "it's \"x\"\\", "all": true, "deep": {"a": [null, "é\n"]}}""")], 49,
    ),
    "hermes-arguments-as-python-has-them-first": hermes(
        """<tool_call>{"arguments": {'zone': 'isn't'}, 'x': 'y', "name": 'get_time'}</tool_call>""", [(None, "get_time", """{"zone": "isn't"}""")], 50,
    ),
    "hermes-python-in-a-string": hermes(
        """<tool_call>{"name": "read_file", "arguments": "{'path': 'a', 'all': True}"}</tool_call>""", [(None, "read_file", '{"path":"a","all":true}')], 51,
    ),
    "hermes-arguments-in-two-strings": hermes(
        '<tool_call>{"name": "get_time", "arguments": ' + json.dumps(json.dumps(json.dumps({"zone": 'a"b'}))) + "}</tool_call>",
        [(None, "get_time", '{"zone": "a\\"b"}')], 52,
    ),
    "hermes-python-broken-off": Pattern(
        REQUEST, pieces("<tool_call>{'name': 'get_time', 'arguments': {'zone': 'U", 53), [(None, "get_time", '{"zone": "U')],
        finish="length", expected_finish="length", rules=("hermes",),
    ),
    "hermes-function-as-a-tag": hermes('<tool_call>\n{"function=get_time", "arguments": ' + TIME + "}\n</tool_call>", [BOTH[1]], 54),
    "hermes-name-as-a-tag": hermes('<tool_call>\n{"name="get_time", "arguments": ' + TIME + "}\n</tool_call>", [BOTH[1]], 55),
    "hermes-as-a-tag-of-no-tool": prose('<tool_call>\n{"function=rm", "arguments": {}}\n</tool_call> {"name="rm", "name" "function=get_time"', 56),
    "hermes-end-tag-in-a-string": hermes(
        '<tool_call>{"name": "get_time", "arguments": {"zone": "</tool_call>"}}</tool_call>', [(None, "get_time", '{"zone": "</tool_call>"}')], 14
    ),
    "hermes-not-offered": prose('<tool_call>{"name": "rm", "arguments": {}}</tool_call>', 15),
    "hermes-in-a-fence": prose(f"Write it so:\n```\n{H}\n```\nor `<tool_call>` like `{H[:40]}`", 16),
    "hermes-in-a-fence-in-a-list": prose("1. Write:\n2. ```\n   " + H.replace("\n", "\n   ") + "\n   ```\n- or not", 46),
    "hermes-in-a-fence-in-a-quotation": prose("> ```xml\n> " + H.replace("\n", "\n> ") + "\n> ```\n", 47),
    "hermes-behind-a-quotation": hermes("> ```\n> x\n\n" + H, BOTH, 48, content="> ```\n> x\n\n"),
    "hermes-thoughts": Pattern(
        REQUEST, [{"reasoning_content": f"I could call {H}"}, {"reasoning_content": " or not."}, "No."],
        reasoning=f"I could call {H} or not.", content="No.", expected_finish="stop",
    ),
    "hermes-calls-in-reasoning": Pattern(
        REQUEST, pieces(f"I will call {H}\n", 17), BOTH, reasoning="I will call ", field="reasoning_content", rules=HERMES
    ),
    "coder-two": xml(f"Let me see.\n{X}", BOTH, 20, content="Let me see.\n"),
    "coder-opening-tag-missing": xml(X.removeprefix("<tool_call>\n"), BOTH, 21),
    "coder-opening-tag-missing-later": xml(X.replace("</tool_call>\n<tool_call>", "</tool_call>"), BOTH, 22),
    "coder-one-line": xml(X.replace("\n", ""), BOTH, 23),
    "coder-names-in-quotes": xml(X.replace("function=read_file", 'function="read_file"').replace("=zone", "='zone'"), BOTH, 45),
    "coder-no-parameter-end": xml(X.replace("\n</parameter>", ""), BOTH, 24),
    "coder-no-function-end": xml(X.replace("</function>\n", ""), BOTH, 25),
    "coder-types": xml(
        '<tool_call><function=read_file><parameter=limit>\nnull\n</parameter><parameter=deep>{"a": [1, 2.50]}</parameter>'
        "<parameter=all>True</parameter><parameter=undeclared>12</parameter></function></tool_call>",
        [(None, "read_file", '{"limit": "null", "deep": {"a": [1, 2.50]}, "all": true, "undeclared": "12"}')], 26,
    ),
    "coder-no-parameters": xml("<tool_call>\n<function=get_time>\n</function>\n</tool_call>", [(None, "get_time", "{}")], 27),
    "coder-end-tag-in-a-value": xml(write("a </parameter> b\n</parameter>"), wrote("a </parameter> b\n</parameter>"), 28),
    "coder-function-end-in-a-value": xml(write("a </function> b"), wrote("a </function> b"), 29),
    "coder-call-end-in-a-value": xml(write("a </tool_call> b"), wrote("a </tool_call> b"), 30),
    "coder-pair-in-a-value": xml(write("<parameter=x>\n1\n</parameter>\n"), wrote("<parameter=x>\n1\n</parameter>\n"), 31),
    "coder-call-in-a-value": xml(write(X + "\nend"), wrote(X + "\nend"), 32),
    "coder-blanks-and-markup-in-a-value": xml(write('\n  <p>1 < 2 && "x" \\ é 🌤</p>\n\n'), wrote('\n  <p>1 < 2 && "x" \\ é 🌤</p>\n\n'), 33),
    "coder-broken-off": Pattern(
        REQUEST, pieces(write("abc")[:-40], 34), [(None, "write_file", '{"path": "x", "content": "a')],
        finish="length", expected_finish="length", rules=("qwen3_coder",),
    ),
    "coder-last-end-missing": xml(X[: X.index("</function>\n</tool_call>\n<tool_call>")], BOTH[:1], 35),
    **{f"coder-closers-in-a-value-{n}": xml(write(text), wrote(text), 70 + n) for n, text in enumerate((
        "</function></function>", "</tool_call>\n</tool_call>", "a </function></tool_call> b </function></tool_call> c",
        "say <parameter= and <parameter=x", f"x\n{X}\ny",
    ))},
    "coder-end-tags-of-another-time": xml(
        X.replace("</function>\n</tool_call>", "</function>\n</function>\n</function_invocation>\n</tool_call>") + " ok", BOTH, 77, content=" ok",
    ),
    "coder-equals-for-the-end-of-a-tag": xml(X.replace("=path>\na.md\n", "=path=a.md").replace("=limit>\n20\n", "=limit=20"), BOTH, 78),
    "coder-name-attributes": Pattern(REQUEST, pieces(named(X), 79), BOTH, rules=NAMED),
    "coder-name-attributes-and-equals": Pattern(REQUEST, pieces(named(X, "function"), 80), BOTH, rules=NAMED),
    "coder-name-attributes-no-wrapper": Pattern(
        REQUEST, pieces(f"So:\n{named(X).removeprefix('<tool_call>')}", 81), BOTH, content="So:\n\n", rules=NAMED
    ),
    "coder-name-attributes-no-ends": Pattern(
        REQUEST, pieces(named(X).replace("\n</parameter>", "").replace("</function>\n", ""), 82), BOTH, rules=NAMED
    ),
    "coder-name-attributes-in-a-value": xml(  # other XML has them, too: there they begin no parameter
        '<tool_call>\n<function=read_file>\n<parameter=path>\n<parameter name="limit">5</parameter>\n</parameter>\n</function>\n</tool_call>',
        [(None, "read_file", json.dumps({"path": '<parameter name="limit">5</parameter>'}))], 83,
    ),
    "coder-name-attributes-in-prose": prose('A <function name="read_file"> or <function name="rm"></function>, `' + named(X).replace("\n", "") + "` <function", 84),
    # damaged tags, as in public reports (llama.cpp#28612, mlx-lm#1881, headlong#131)
    "coder-misspelt-parameter-end": xml(X.replace("</parameter>", "</paramter>") + " ok", BOTH, 85, content=" ok"),
    "coder-cut-parameter-end": xml(X.replace("</parameter>\n<", "</param\n<"), BOTH, 86),
    "coder-function-end-named-after-the-tool": xml(X.replace("</function>", "</read_file>", 1), BOTH, 87),
    "coder-parameter-without-end-of-its-tag": xml(X.replace("=path>", "=path"), BOTH, 88),
    "coder-no-function-end-and-prose": xml(X[: X.index("</function>")] + "I wait.", BOTH[:1], 89, content="I wait."),
    "coder-misspelt-end-in-a-value": xml(write("say </paramter> now\nand </param>"), wrote("say </paramter> now\nand </param>"), 90),
    "coder-openers-without-end": prose("<tool_call>" * 20, 76),
    "coder-in-prose": prose("Use `<function=read_file>` or <function=rm> or <function=get_time> hm", 36),
}  # fmt: skip
assert META
