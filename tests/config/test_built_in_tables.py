"""Built-in dialects as tables: each has one or a reason, and a table parses what the dialect's models write."""

import pytest

from tests.support.judges.chat import read
from tests.support.streams import stream, tool
from toolmend.cli import main
from toolmend.config.built_in_tables import NO_TABLE, PLAIN_FORMS, table_of
from toolmend.config.dialect_tables import dialects, to_json
from toolmend.config.settings import parse
from toolmend.dialects import DIALECTS
from toolmend.pipeline.pipeline import Pipeline

PATH = '<parameter name="path">a.md</parameter>'
SAMPLES = {
    "hermes": '<tool_call>{"name": "read_file", "arguments": {"path": "a.md"}}</tool_call>',
    "qwen3_coder": "<tool_call>\n<function=read_file>\n<parameter=path>\na.md\n</parameter>\n</function>\n</tool_call>",
    "minimax_m2": f'<minimax:tool_call>\n<invoke name="read_file">\n{PATH}\n</invoke>\n</minimax:tool_call>',
    "kimi_k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>"
    '{"path": "a.md"}<|tool_call_end|><|tool_calls_section_end|>',
    "deepseek_v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>"
    '{"path": "a.md"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "dsml": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="read_file">\n<｜DSML｜parameter name="path" string="true">a.md'
    "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    "hunyuan": "<tool_calls>\n<tool_call>read_file<tool_sep>\n<arg_key>path</arg_key>\n<arg_value>a.md</arg_value>\n"
    "</tool_call>\n</tool_calls>",
    "mistral": '[TOOL_CALLS]read_file[ARGS]{"path": "a.md"}',
    "claude": f'<function_calls>\n<invoke name="read_file">\n{PATH}\n</invoke>\n</function_calls>',
    "qwen3_named": f'<tool_call><function name="read_file">{PATH}</function></tool_call>',
    "minicpm": '<function name="read_file"><param name="path">a.md</param></function>',
    "call_record": f'<call_record tool="read_file">\n{PATH}\n</call_record>',
    "glm": "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.md</arg_value>\n</tool_call>",
    "minimax_m3": ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="read_file">]<]minimax[>[<path>a.md]<]minimax[>[</path>'
    "]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    "inkling": '<|content_invoke_tool_json|>{"name": "read_file", "args": {"path": "a.md"}}<|end_message|>',
    "json_tools": '<tools>\n{"name": "read_file", "arguments": {"path": "a.md"}}\n</tools>',
}


@pytest.mark.parametrize("name", DIALECTS)
def test_each_dialect_has_a_table_or_a_reason(name: str) -> None:
    fields = table_of(DIALECTS[name])
    if fields is None:
        why, similar = NO_TABLE[name]
        assert why
        assert table_of(DIALECTS[similar])
    else:
        assert name not in NO_TABLE
        assert dialects("own.toml", "", [fields])[0].name == f"my-{name}"


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("name", SAMPLES)
def test_a_table_parses_what_its_models_write(name: str, size: int) -> None:
    own = to_json(dialects("own.toml", "", [table_of(DIALECTS[name])]))
    settings = parse({"flows": "off", "own_dialects": own, "dialects": f"my-{name}"})
    request = {"model": "gpt-5.5", "messages": [], "tools": [tool("read_file", path={"type": "string"})]}
    text = SAMPLES[name]
    made = Pipeline(request, host="api.openai.com", settings=settings)
    out = made.feed(stream([text[at : at + size] for at in range(0, len(text), size)])) + made.close()
    only = read(out).only
    assert [(call.name, call.value) for call in only.calls] == [("read_file", {"path": "a.md"})]
    assert not only.content.strip()


def test_plain_forms_have_samples() -> None:
    assert PLAIN_FORMS.keys() <= SAMPLES.keys()


def test_the_command_states_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dialects", "harmony", "--toml"]) == 1
    error = capsys.readouterr().err
    assert "its calls are messages" in error
    assert "toolmend dialects kimi_k2 --toml" in error
    assert main(["dialects", "kimi_k2", "--toml"]) == 0
    assert capsys.readouterr().out.startswith("# the usual form of kimi_k2")
