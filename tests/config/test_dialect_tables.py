"""Dialects that the user describes: tables of the settings, checked, and calls read by them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.judges.chat import read
from tests.support.recordings import in_events, keep
from tests.support.streams import stream, tool
from toolmend.cli import main
from toolmend.config.dialect_tables import fields_of, to_toml
from toolmend.config.settings import Settings, SettingsError, parse, recorded
from toolmend.pipeline.pipeline import Pipeline
from toolmend.recordings.read.replay import load, replay

TABLES = r"""
[[dialect]]
name = "acme"
begin = ["<|tool_start|>"]
separator = ["<|tool_args|>"]
end = ["<|tool_stop|>"]
wrapper = { begin = ["<|tools|>"], end = ["<|/tools|>"] }

[[dialect]]
name = "attrs"
arguments = "attributes"
begin = ['<use tool="']
separator = ['"']
end = ["/>"]

[[dialect]]
name = "kv"
arguments = "lines"
begin = ["TOOL: "]
separator = ["\n"]
end = ["END"]
parameter = { separator = [": "] }

[[dialect]]
name = "elem"
arguments = "parameters"
begin = ["<call><name>"]
separator = ["</name>"]
end = ["</call>"]
parameter = { begin = ["<"], separator = [">"], end = ["</{key}>"] }

[[dialect]]
name = "env"
arguments = "envelope"
begin = ["<act>"]
end = ["</act>"]
keys = { name = ["fn"], arguments = ["with"] }

[[dialect]]
name = "ends"
begin = ["[["]
separator = ["]]"]
end = ["[[/{name}]]"]

[[dialect]]
name = "ids"
begin = ['<c id="']
pattern = '[^"\n]*" f="(?P<name>[\w.-]+?)'
separator = ['">']
end = ["</c>"]

[[dialect]]
name = "numbers"
begin = ["<tc:"]
pattern = '(?P<id>[\w-]+)>(?P<name>[\w.-]+?)'
separator = [" "]
end = ["</tc:{id}>"]

[[dialect]]
name = "braces"
begin = ['{"do": {"tool": "']
separator = ['", "with": ']
end = ["}}"]

[[dialect]]
name = "values"
arguments = "parameters"
begin = ['<do name="']
separator = ['">']
end = ["</do>"]
parameter = { begin = ['<arg name="'], separator = ['" value="'], end = ['"/>'] }
"""
CALLS = {
    "acme": '<|tool_start|>read_file<|tool_args|>{"path": "a.md", "limit": 3}<|tool_stop|>',
    "attrs": '<use tool="read_file" path="a.md" limit="3"/>',
    "kv": "TOOL: read_file\nPATH: a.md\nlimit: 3\nEND",
    "elem": "<call><name>read_file</name>\n<path>a.md</path><limit>3</limit></call>",
    "env": '<act>{"fn": "read_file", "with": {"path": "a.md", "limit": 3}}</act>',
    "ends": '[[read_file]]{"path": "a.md", "limit": 3}[[/read_file]]',
    "ids": '<c id="x-17" f="read_file">{"path": "a.md", "limit": 3}</c>',
    "numbers": '<tc:7>read_file {"path": "a.md", "limit": 3}</tc:7>',
    "braces": '{"do": {"tool": "read_file", "with": {"path": "a.md", "limit": 3}}}',
    "values": '<do name="read_file"><arg name="path" value="a.md"/><arg name="limit" value="3"/></do>',
}
TOOLS = [tool("read_file", path={"type": "string"}, limit={"type": "integer"}), tool("get_time", zone={"type": "string"})]
REQUEST = {"model": "gpt-5.5", "messages": [], "tools": TOOLS}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    file = tmp_path / "own.toml"
    file.write_text(TABLES)
    return parse({"config": str(file), "flows": "off"})


def play(text: str, size: int, settings: Settings) -> tuple[bytes, bytes, Pipeline]:
    body = stream([text[at : at + size] for at in range(0, len(text), size)])
    made = Pipeline(REQUEST, host="api.openai.com", settings=settings)
    return body, made.feed(body) + made.close(), made


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_read(name: str, settings: Settings) -> None:
    for size in (1, 7, 1000):
        for text in (CALLS[name], f"I will look.\n{CALLS[name]}\n"):
            _, out, made = play(text, size, settings)
            (call,) = read(out).only.calls
            assert (call.name, call.value) == ("read_file", {"path": "a.md", "limit": 3})
            assert name in made.rules
        for wrong in (CALLS[name].replace("read_file", "other"), CALLS[name][:-3], f"`{CALLS[name]}`", f"As in {CALLS[name]} here."):
            body, out, _ = play(wrong, size, settings)
            assert out == body


def test_values_may_hold_markup(settings: Settings) -> None:
    _, out, _ = play("<call><name>read_file</name><path>a <b>x</b> </path> y</path><limit>3</limit></call>", 5, settings)
    assert read(out).only.calls[0].value == {"path": "a <b>x</b> </path> y", "limit": 3}
    _, out, _ = play("<|tools|>" + CALLS["acme"] * 2 + "<|/tools|>", 5, settings)
    assert len(read(out).only.calls) == 2
    assert read(out).only.content == ""


def test_quoted_values_are_unescaped(settings: Settings) -> None:
    text = '<do name="read_file"><arg name="path" value="a &lt;b&gt; &quot;c&quot;"/></do>'
    assert read(play(text, 5, settings)[1]).only.calls[0].value == {"path": 'a <b> "c"'}


def test_line_ends_may_be_crlf(settings: Settings) -> None:
    for name in ("kv", "elem"):
        for size in (1, 7, 1000):
            _, out, _ = play(f"So:\n{CALLS[name]}\n".replace("\n", "\r\n"), size, settings)
            assert read(out).only.calls[0].value == {"path": "a.md", "limit": 3}


@pytest.mark.parametrize(
    "text",
    [
        '<do name="read_file"><arg name="path" value="a \\"/><arg name="limit" value="3"/></do>',
        CALLS["numbers"].replace("</tc:7>", "</tc:8>"),
        CALLS["values"].replace('"limit"', '"mode"'),
        CALLS["kv"].replace("limit", "MODE"),
    ],
)
def test_markup_that_does_not_fit_is_text(text: str, settings: Settings) -> None:
    body, out, _ = play(text, 7, settings)
    assert out == body


def test_quoted_call_of_any_place_is_text(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(TABLES.replace('name = "acme"', 'name = "acme"\nplace = "any"'))
    given = parse({"config": str(file), "flows": "off"})
    assert len(read(play(f"So: {CALLS['acme']}", 7, given)[1]).only.calls) == 1
    for size in (1, 7, 1000):
        body, out, _ = play(f"> {CALLS['acme']}\n", size, given)
        assert out == body


def test_tables_and_what_is_printed_are_one(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "again.toml"
    file.write_text("\n".join(to_toml(fields_of(row)) for row in settings.own))
    assert parse({"config": str(file), "flows": "off"}).own == settings.own
    assert parse({"flows": "off", **recorded(settings)}).own == settings.own


WRONG = {
    'name = "x"\nbegn = ["<"]': "3: begn is not a field of a dialect (did you mean begin?)",
    'name = "x"': "1: dialect: it has no begin",
    'begin = ["<"]': "1: dialect: it has no name",
    'name = "hermes"\nbegin = ["<"]': "2: name: 'hermes' is a built-in dialect, write another name, as in my-hermes",
    'name = "x"\nbegin = ["<"]\narguments = "jsn"': "4: arguments: 'jsn' is not understood (did you mean json?)",
    'name = "x"\nbegin = [""]': "3: begin: begin = [''] is not understood",
    'name = "x"\nbegin = ["<"]\npattern = "(?P<name>(a+)+)"': "4: pattern: '(?P<name>(a+)+)' may be slow, as it repeats a group",
    'name = "x"\nbegin = ["<"]\npattern = "(?P<name>(a|a)*)x"': "4: pattern: '(?P<name>(a|a)*)x' may be slow, as it repeats a group",
    'name = "x"\nbegin = ["<"]\npattern = "(?P<name>(?:a?){60}a{60})"': "4: pattern: '(?P<name>(?:a?){60}a{60})' may be slow, as it repeats a group",
    'name = "x"\nbegin = ["<"]\npattern = "(?P<name>a?a?a?a?a?)"': "4: pattern: '(?P<name>a?a?a?a?a?)' may be slow: it has more than 2 repetitions or 4 opt",
    'name = "x"\nbegin = ["<"]\npattern = "a*b*(?P<name>c*)"': "4: pattern: 'a*b*(?P<name>c*)' may be slow: it has more than 2 repetitions",
    'name = "x"\nbegin = ["<"]\npattern = "a+"': "4: pattern: 'a+' binds no name",
    'name = "x"\nbegin = ["<"]\npattern = "("': "4: pattern: '(' is not a pattern",
    'name = "x"\nbegin = ["<"]\nwrapper = { bgin = ["<"] }': "4: wrapper: 'bgin' is not a part of it (did you mean begin?)",
    'name = "x"\nbegin = ["<"]\narguments = "parameters"': "1: dialect: its parameters have no tag",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_told_with_its_line(text: str, tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(f"[[dialect]]\n{text}\n")
    with pytest.raises(SettingsError) as error:
        parse({"config": str(file), "flows": "off"})
    assert str(error.value).startswith(f"{file}:{WRONG[text]}")


def test_names_are_known_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(TABLES + '\n[[provider]]\nname = "mine"\nmodels = ["m*"]\ndialects = ["acme"]\n')
    given = parse({"config": str(file), "flows": "off", "dialects": "acme"})
    assert given.dialects == ("acme",)
    for text, made in ((CALLS["acme"], 1), (CALLS["attrs"], 0)):
        assert len(read(play(text, 9, given)[1]).only.calls) == made


def test_a_recording_is_played_by_its_own_dialects(settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told: dict[str, Any] = recorded(settings)
    folder = keep(tmp_path / "one", in_events(stream([CALLS["acme"]])), REQUEST, model="gpt-5.5", settings=told)
    assert json.loads((folder / "meta.json").read_text())["rules"][0] == "acme"
    assert replay(load(folder))[1][0] == "acme"
    assert main(["explain", str(folder)]) == 0
    assert "in the markup acme" in capsys.readouterr().out


def test_commands_show_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "own.toml"
    file.write_text(TABLES)
    for args, words in (
        (["config", "show", "--config", str(file)], "dialect acme\tjson: <|tool_start|>"),
        (["providers", "gpt-5.5", "--config", str(file)], "your own   acme, attrs, kv, elem, env, ends, ids, numbers, braces, values"),
        (["dialects", "acme", "--toml", "--config", str(file)], 'begin = ["<|tool_start|>"]'),
        (["dialects", "--config", str(file)], "acme\tyours\t"),
    ):
        assert main(args) == 0
        assert words in capsys.readouterr().out
    assert main(["dialects", "acmee", "--toml", "--config", str(file)]) == 2
    assert "did you mean acme?" in capsys.readouterr().err
    assert main(["dialects", "harmony", "--toml"]) == 1
