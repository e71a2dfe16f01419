"""Element dialects × damaged closing tags × positions × what follows: no markup gets into an argument, however the text is cut.

The cells are made from data: how a dialect writes a call (`SHAPES`), what becomes of a closing tag (`DAMAGES`), and what stands
after the value (`TAILS`). Near misses are the same tags in the middle of a line of code, with the right end after them.
"""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.support.closers import M2, QWEN, WRITE, P, W
from tests.support.markup import Told
from toolmend.core.tools import Tools

TOOLS = Tools(
    {
        "pick": {"properties": {"command": {"type": "string"}, "content": {"type": "string"}, "limit": {"type": "integer"}}},
        "bash": {"properties": {"command": {"type": "string"}}},
    }
)


@dataclass(frozen=True)
class Shape:
    """How a dialect writes a call. `open`: the tags in front of a value; `{}` is the name of the tool or the parameter."""

    dialect: str
    wrapper: tuple[str, str]
    call: tuple[str, str]
    open: str
    close: str

    def parameter(self, name: str, value: object, close: str | None = None) -> str:
        end = self.close.format(name)
        return f"{self.open.format(name)}{value}{end if close is None else close}\n"

    def begin(self, tool: str) -> str:
        return f"{self.wrapper[0]}{self.call[0].format(tool)}"

    @property
    def end(self) -> str:
        return f"{self.call[1]}{self.wrapper[1]}"


def dsml(slash: str, name: str) -> str:
    return f"<{slash}｜DSML｜{name}>"


SHAPES = (
    Shape("qwen3_coder", ("<tool_call>\n", "</tool_call>"), ("<function={}>\n", "</function>\n"), "<parameter={}>\n", "\n</parameter>"),
    Shape("qwen3_coder", ("", ""), ("<function={}>\n", "</function>"), "<parameter={}>\n", "\n</parameter>"),
    Shape("qwen3_named", ("<tool_call>\n", "</tool_call>"), ('<function name="{}">\n', "</function>\n"), '<parameter name="{}">\n', "\n</parameter>"),
    Shape("seed_oss", ("<seed:tool_call>\n", "</seed:tool_call>"), ("<function={}>\n", "</function>\n"), "<parameter={}>", "</parameter>"),
    Shape("minimax_m2", ("<minimax:tool_call>\n", "</minimax:tool_call>"), ('<invoke name="{}">\n', "</invoke>\n"), '<parameter name="{}">', "</parameter>"),
    Shape("anthropic", ("<function_calls>\n", "</function_calls>"), ('<invoke name="{}">\n', "</invoke>\n"), '<parameter name="{}">', "</parameter>"),
    Shape("claude", ("", ""), ('<invoke name="{}">\n', "</invoke>"), '<parameter name="{}">', "</parameter>"),
    Shape(
        "dsml", ("<｜DSML｜tool_calls>\n", "</｜DSML｜tool_calls>"), ('<｜DSML｜invoke name="{}">\n', "</｜DSML｜invoke>\n"), '<｜DSML｜parameter name="{}">',
        "</｜DSML｜parameter>",
    ),
    Shape("glm", ("<tool_call>", "</tool_call>"), ("{}\n", ""), "<arg_key>{}</arg_key>\n<arg_value>", "</arg_value>"),
    Shape("step3", ("<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>", "<｜tool_call_end｜><｜tool_calls_end｜>"),
          ('<steptml:invoke name="{}">', "</steptml:invoke>"), '<steptml:parameter name="{}">', "</steptml:parameter>"),
    Shape("minicpm", ("", ""), ('<function name="{}">', "</function>"), '<param name="{}">', "</param>"),
    Shape("hunyuan", ("<tool_calls><tool_call>", "</tool_call></tool_calls>"), ("{}<tool_sep>", ""), "<arg_key>{}</arg_key><arg_value>", "</arg_value>"),
    Shape("k2_horizon", ("<ifm|tool_calls><ifm|tool_call>", "</ifm|tool_call></ifm|tool_calls>"), ("{}", ""), "<ifm|arg_key>{}</ifm|arg_key><ifm|arg_value>", "</ifm|arg_value>"),
    Shape("dots", ("<dots_function_call>", "</dots_function_call>"), ('<invoke name="{}">', "</invoke>"), '<parameter name="{}">', "</parameter>"),
    Shape("muse", ("<atem:function_calls>", "</atem:function_calls>"), ('<atem:invoke name="{}">', "</atem:invoke>"), '<atem:parameter name="{}">', "</atem:parameter>"),
    Shape("kimi_k3", ("<|open|>tools<|sep|>", "<|close|>tools<|sep|>"), ('<|open|>call tool="{}" index="1"<|sep|>', "<|close|>call<|sep|>"),
          '<|open|>argument key="{}"<|sep|>', "<|close|>argument<|sep|>"),
    Shape("minimax_m3", (f"{P}<tool_call>\n", f"{P}</tool_call>"), (f'{P}<invoke name="{{}}">', f"{P}</invoke>\n"), f"{P}<{{}}>", f"{P}</{{}}>"),
)  # fmt: skip

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _letter(close: str, do: Callable[[str, int], str]) -> str:
    """A closing tag with something done to a letter of its name, the third last one."""
    at = [n for n, letter in enumerate(close.removesuffix("<|sep|>")) if letter in LETTERS][-3]
    return do(close, at)


DAMAGES: dict[str, Callable[[str, str], str | None]] = {
    # from an exact closing tag and the name of the parameter; None: it has none
    "a letter is missing": lambda close, _: _letter(close, lambda c, at: c[:at] + c[at + 1 :]),
    "a letter is doubled": lambda close, _: _letter(close, lambda c, at: c[:at] + c[at] + c[at:]),
    "letters are swapped": lambda close, _: _letter(close, lambda c, at: c[:at] + c[at + 1] + c[at] + c[at + 2 :]),
    "a letter is another": lambda close, _: _letter(close, lambda c, at: c[:at] + "x" + c[at + 1 :]),
    "its end is missing": lambda close, _: close.removesuffix("<|sep|>").removesuffix(">"),
    "half of it is missing": lambda close, _: close[: close.rindex("/" if "/" in close else "|>") + 4],
    "a digit is fused": lambda close, _: close[:-1] + "1>" if close[-3:] != "|>" and "<|" not in close else None,
    "it is doubled": lambda close, _: close + close.strip(),
    "it is begun twice": lambda close, _: close[: len(close) - len(close.lstrip())] + "</" + close.strip() if close.strip()[:2] == "</" else None,
    "it has a > too many": lambda close, _: close + ">" if close.endswith(">") else None,
    "a blank in it": lambda close, _: close.replace("</", "</ ") if "</" in close else None,
    "self-closed": lambda *_: "<parameter/>",
    "without its slash": lambda *_: "<parameter>",
    "the end of Qwen's": lambda *_: "\n</parameter>",
    "the end of GLM's": lambda *_: "</arg_value>",
    "the end of MiniCPM's": lambda *_: "</param>",
    "the end of DSML's": lambda *_: "</｜DSML｜parameter>",
    "the end of Kimi K3's": lambda *_: "<|close|>argument<|sep|>",
    "named after the parameter": lambda _, name: f"</{name}>",
    "named after the parameter on a line of its own": lambda _, name: f"\n</{name}>",
    "in upper case": lambda close, _: close.upper() if "<|" not in close and P not in close else None,
    "the end of a function": lambda *_: "</function>",
    "the end of an invoke": lambda *_: "</invoke>",
    "missing": lambda *_: "",
    "with a backslash": lambda close, _: close.replace("</", "<\\") if "</" in close else None,
    "with two slashes": lambda close, _: close.replace("</", "<//") if "</" in close else None,
    "closed by a brace": lambda close, _: close[:-1] + "}" if "</" in close else None,
    "closed by a square bracket": lambda close, _: close[:-1] + "]" if "</" in close else None,
    "a dot after it": lambda close, _: close + "." if "</" in close else None,
    "with its parameter's name": lambda close, name: close[:-1] + f"={name}>" if "</" in close else None,
    "fused with its parameter's name": lambda close, name: close[:-1] + f"_{name}>" if "</" in close and P not in close else None,
    "after a tag of its parameter's name": lambda close, name: f"</{name}>" + close,
    "begun, and begun again": lambda close, _: close[:-1] + close.strip() if "</" in close else None,
    "the end of a value": lambda *_: "</value>",
    "the end of MiniMax M3's": lambda _, name: f"{P}</{name}>",
    "the end of DSML's, without a bar": lambda *_: "</DSML｜parameter>",
    "the end of another parameter": lambda _, name: "</content>" if name == "command" else "</command>",
}

VALUES = ("ls -la", 'if a < b:\n    print("</div>")')
PROSE = "\nI look at what it gives."

TAILS: dict[str, Callable[[Shape], str]] = {
    "the end": lambda shape: shape.end,
    "no end of the call": lambda shape: shape.wrapper[1] or shape.call[1],
    "a wrong end of the call": lambda shape: f"</pick>\n{shape.wrapper[1]}",
    "the end, and prose": lambda shape: shape.end + PROSE,
    "another call": lambda shape: f"{shape.end}\n{shape.begin('bash')}{shape.parameter('command', 'pwd')}{shape.end}",
    "another call without an end of this one": lambda shape: f"{shape.begin('bash')}{shape.parameter('command', 'pwd')}{shape.end}",
    "a token that ends the turn": lambda _: "<|im_end|>",
    "nothing": lambda _: "",
}
"""What follows the last parameter."""

ALL_MARKUP = ("parameter", "param", "arg_", "argument", "invoke", "function", "tool_call", "</pick", "</command", "</content", "im_end", "close|")


def cells() -> Iterator[tuple[str, Shape, str, dict[str, object]]]:
    """What the cell is called, the dialect, the text, and the arguments of `pick`."""
    for shape in SHAPES:
        for damage, make in DAMAGES.items():
            for tail, write in TAILS.items():
                for value in VALUES:
                    for position in ("alone", "first", "last", "last, behind a number"):
                        name = "content" if position == "first" else "command"
                        close = make(shape.close.format(name), name)
                        if close is None or (not close and tail in ("nothing", "another call without an end of this one")):
                            continue
                        wrong = shape.parameter(name, value, close)
                        given: dict[str, object] = {name: value}
                        text = wrong
                        if position == "first":
                            given["limit"], text = 5, wrong + shape.parameter("limit", 5)
                        elif position == "last":
                            given, text = {"content": "x", **given}, shape.parameter("content", "x") + wrong
                        elif position != "alone":
                            given, text = {"limit": 5, **given}, shape.parameter("limit", 5) + wrong
                        yield f"{shape.dialect}: {damage}, {tail}, {position}", shape, shape.begin("pick") + text + write(shape), given


CELLS = list(cells())


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.dialect}{'' if shape.wrapper[0] else ' bare'}")
def test_no_markup_gets_into_an_argument(shape: Shape) -> None:
    dice = random.Random(7)
    wrong: dict[str, object] = {}
    for name, of, text, given in CELLS:
        if of is not shape:
            continue
        told = Told([text], TOOLS, (shape.dialect,), broken=False)
        arguments = [call[2] for call in told.calls]
        if [each.replace('\\n"', '"') for each in arguments[:1]] != [json.dumps(given)] or len(told.ended) != len(told.calls) or len(told.calls) != 1 + (", another call" in name):
            wrong[name] = (text, told.calls)
        if dice.random() < 0.02:
            for pieces in (list(text), [text[: len(text) // 2], text[len(text) // 2 :]]):
                cut = Told(pieces, TOOLS, (shape.dialect,), broken=False)
                if (cut.calls, cut.content, cut.ended) != (told.calls, told.content, told.ended):
                    wrong[f"{name}, cut"] = (text, cut.calls)
    assert not wrong, f"{len(wrong)}: {list(wrong.items())[:5]}"


M = '<minimax:tool_call>\n<invoke name="write">\n{}\n</invoke>\n</minimax:tool_call>'
NEXT = "\n<parameter=content>\nx\n</parameter>"
BOTH = {"path": "a.md", "content": "x"}

OPENERS: tuple[tuple[tuple[str, ...], str, dict[str, str]], ...] = (
    (QWEN, W.format("<parameter=path\na.md\n</parameter>" + NEXT), BOTH),
    (QWEN, W.format("<parameter=:path>\na.md\n</parameter>" + NEXT), BOTH),
    (QWEN, W.format("<parameter==path>\na.md\n</parameter>" + NEXT), BOTH),
    (QWEN, W.format("<parameter=path=>\na.md\n</parameter>" + NEXT), BOTH),
    (QWEN, W.format("<parameter: path>\na.md\n</parameter>" + NEXT), BOTH),
    (QWEN, W.format("<parameter path>\na.md\n</parameter>" + NEXT), BOTH),
    (QWEN, W.format("<parameter=path: a.md</parameter>" + NEXT), BOTH),
    (QWEN, W.format("<parameter=path:a.md\n</parameter>" + NEXT), BOTH),
    (QWEN, W.format('<parameter name="path">a.md</parameter>' + NEXT), BOTH),
    (QWEN, W.format("<parameter=path>\na.md\n</parameter>\n<parameter>\nx\n</parameter>"), BOTH),
    (QWEN, W.format("<parameter>\nno name\n</parameter>\n<parameter=path>\na.md\n</parameter>"), {"path": "a.md"}),
    (QWEN, W.format("<parameter>path</parameter>\na.md"), {"path": "a.md"}),
    (QWEN, W.format("<parameter=path>\n<![CDATA[a <b>]]>\n</parameter>"), {"path": "a <b>"}),
    (QWEN, W.format("<parameter=path><![CDATA[a]]></parameter>"), {"path": "a"}),
    (QWEN, "<function=one\n<parameter=a>\nx\n</parameter>\n</function>", {"a": "x"}),
    (QWEN, "<function=one>\n<parameter>a</parameter>\nb\n</function>", {"a": "b"}),
    (QWEN, "<tool_call><function=one/></tool_call>", {}),
    (QWEN, '<function name="one"/>', {}),
    (M2, M.format('<parameter rname="path">a.md</parameter>\n<parameter="content">x</parameter>'), BOTH),
    (M2, M.format('<parameter name:"path">a.md</parameter>\n<parameter>x</parameter>'), BOTH),
    (M2, M.format('<parameter name=:"path">a.md</parameter>\n<parameter name="content"><![CDATA[x]]></parameter>'), BOTH),
    (M2, M.format('<parameter name="path"\na.md</parameter>\n<parameter name="content">x</content>'), BOTH),
    (M2, '<minimax:tool_call><invoke name="one"/></minimax:tool_call>', {}),
    (QWEN, "<function=one>\n<parameter=a>\nx\n</content>\n</function>", {"a": "x"}),
    (QWEN, W.format("<parameter=path>\na.md\n</parameter>\n<parameter=content>\nx\n</content>\n</parameter>"), BOTH),
    (M2, M.format('<parameter name="content">x</parameter>\n</path>\n<parameter name="path">a.md</content>'), {"content": "x", "path": "a.md"}),
    (M2, M.format('<parameter name="path">a.md</parameter>\n<parameter name="content">x</content></parameter>'), BOTH),
    (("minicpm",), '<function name="one"><param name="a"><![CDATA[x]]></parameter></function>', {"a": "x"}),
    (("glm",), "<tool_call>write\n<arg_key>path</arg_key>\n<arg_value>a.md\n<arg_key>content</arg_key>\n<arg_value>x\n</tool_call>", BOTH),
    (M2, M.format('<parameter name="path">a.md\n<parameter name="content">x'), BOTH),
    (("minimax_m3",), f'{P}<invoke name="write">{P}<path>a.md\n{P}<content>x{P}</content>{P}</invoke>', BOTH),
    (("glm",), "<tool_call>one</arg_value></tool_call>", {}),
    (("glm",), "<tool_call>one\n<arg_key>a</arg_key>\n<arg_value>b</arg_value>\n<|im_end|>", {"a": "b"}),
    (("glm",), "<tool_call>one\n<arg_key>a</arg_key>\n<arg_value>b</arg_value>\nI wait.", {"a": "b"}),
)  # fmt: skip
"""Damaged openers, parameters without a name, and calls in one tag."""


def test_a_damaged_opener_is_the_one_parameter_that_it_can_mean() -> None:
    for dialects, text, given in OPENERS:
        for pieces in ([text], list(text)):
            told = Told(pieces, WRITE, dialects, broken=False)
            assert [call[2] for call in told.calls] == [json.dumps(given)], text
            assert (len(told.ended), told.content.strip() in ("", "I wait.", "<|im_end|>")) == (1, True), text


CODE = (
    "say </paramter> here\nand </parameter> there", "</param>", "echo '</parameter1>' | wc", "x </function> y\nz </tool_call>\n", "a\n</function>\nb",
    "a\n</parameter>\nb", "<content>\nx\n</content>", "<param name='a'>\n</param>", "<div>\n</div>", "<></>", "f(<T/>)\n</>", "</invoke>\n</invoke>",
    "a\n</paramter>\n</function>\n</tool_call>\nb", "<parameter>\nx", "<arg_value>1</arg_value>", "<function=one>\n<parameter=a>\nx\n</parameter>\n</function>\nend",
    "<path>\na</path>", "a </path> b", "</path>", "a </content>\nb", "if (a </ b)", "<|im_end|>", "x\n<|im_end|>\ny", "</s>", "&lt;/parameter&gt;",
    "<conf>\n<value>1</value>\n</conf>", "a </value>\nb", "It ends with </parameter>.\nThen more.", "Write `</parameter>`.", "<//parameter>\nb",
    "f(x) // </arg>\n", "]<]minimax[>[</path>\nb", "a </DSML｜parameter> b", "</command>\n<command>", "a\n]<]\nb", "\\n]\n\\",
)  # fmt: skip


def test_code_that_holds_such_tags_stays_whole() -> None:
    for dialect, write in (("qwen3_coder", W.format("<parameter=content>\n{}\n</parameter>")), ("minimax_m2", M.format('<parameter name="content">{}</parameter>'))):
        for code in CODE:
            for text in (write.replace("{}", code), write.replace("{}", f"{code}\nmore\n") + " ok"):
                for pieces in ([text], list(text)):
                    told = Told(pieces, WRITE, (dialect,), broken=False)
                    expected = code + "\nmore\n" * text.endswith(" ok")
                    assert [json.loads(call[2]) for call in told.calls] == [{"content": expected}], text


def test_a_call_that_breaks_off_stays_unfinished() -> None:
    for text in ("a.md\n</paramet", "a.md\n</", "a.md\n</parameter>\nmore", "a.md\n</paramter>\nmore", "a.md\n<|im_e"):
        told = Told([W.partition("{}")[0].format() + "<parameter=path>\n" + text], WRITE, QWEN)
        assert not told.ended, text
