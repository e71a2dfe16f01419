"""Every dialect against generated calls: what is written as a model would write it is read back, however it is cut."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.patterns import enveloped, mistral, tagged
from tests.patterns.family import TOOLS, dumps, raw
from tests.patterns.kimi import A, B, C
from tests.patterns.minimax import P
from tests.support.judges.chat import read
from tests.support.markup import Told
from tests.support.streams import chunk, event, request
from toolmend.config.settings import Settings
from toolmend.core.tools import Tools
from toolmend.dialects import DIALECTS
from toolmend.pipeline.pipeline import Pipeline

type Calls = list[tuple[str, dict[str, Any]]]


def hermes(calls: Calls) -> str:
    return "\n".join(f"<tool_call>\n{dumps({'name': name, 'arguments': given_})}\n</tool_call>" for name, given_ in calls)


def coder(calls: Calls) -> str:
    return "\n".join(
        f"<tool_call>\n<function={name}>\n"
        + "".join(f"<parameter={k}>\n{raw(v)}\n</parameter>\n" for k, v in given_.items())
        + "</function>\n</tool_call>"
        for name, given_ in calls
    )


def dsml(calls: Calls) -> str:
    inner = "\n".join(
        f'<｜DSML｜invoke name="{name}">\n'
        + "".join(
            f'<｜DSML｜parameter name="{k}" string="{dumps(isinstance(v, str))}">{raw(v)}</｜DSML｜parameter>\n' for k, v in given_.items()
        )
        + "</｜DSML｜invoke>"
        for name, given_ in calls
    )
    return f"<｜DSML｜function_calls>\n{inner}\n</｜DSML｜function_calls>"


def v3(calls: Calls) -> str:
    inner = "\n".join(
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{dumps(given_)}\n```<｜tool▁call▁end｜>" for name, given_ in calls
    )
    return f"<｜tool▁calls▁begin｜>{inner}<｜tool▁calls▁end｜>"


def v31(calls: Calls) -> str:
    inner = "".join(f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{dumps(given_)}<｜tool▁call▁end｜>" for name, given_ in calls)
    return f"<｜tool▁calls▁begin｜>{inner}<｜tool▁calls▁end｜>"


def kimi(calls: Calls) -> str:
    inner = "".join(
        f"<|tool_call_begin|>functions.{name}:{n}<|tool_call_argument_begin|>{dumps(given_)}<|tool_call_end|>"
        for n, (name, given_) in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{inner}<|tool_calls_section_end|>"


def minimax_m3(calls: Calls) -> str:
    inner = "".join(
        f'{P}<invoke name="{name}">' + "".join(f"{P}<{k}>{raw(v)}{P}</{k}>" for k, v in given_.items()) + f"{P}</invoke>\n"
        for name, given_ in calls
    )
    return f"{P}<tool_call>\n{inner}{P}</tool_call>"


WRITERS = {
    "kimi_k2": kimi,
    "hermes": hermes,
    "qwen3_coder": coder,
    "qwen3_named": lambda calls: re.sub(r"<(function|parameter)=(\w+)>", r'<\1 name="\2">', coder(calls)),
    "qwen3_cut": lambda calls: re.sub(r"<(function|parameter)=", r"\1=", coder(calls)),
    "dsml": dsml,
    "deepseek_v3": v3,
    "deepseek_v31": v31,
    "minimax_m2": lambda calls: tagged.invoke(calls, "", "minimax:tool_call"),
    "minimax_m3": minimax_m3,
    "glm": tagged.glm,
    "glm_47": lambda calls: tagged.glm(calls, ""),
    "kimi_k3": tagged.kimi_k3,
    "seed_oss": tagged.seed,
    "step3": tagged.step3,
    "minicpm": tagged.minicpm,
    "hunyuan": lambda calls: tagged.keyed(calls, "", "<tool_sep>"),
    "k2_horizon": lambda calls: tagged.keyed(calls, "ifm|", ""),
    "dots": lambda calls: tagged.invoke(calls, "", "dots_function_call"),
    "muse": lambda calls: tagged.invoke(calls, "atem:", "atem:function_calls"),
    "mistral_old": mistral.old,
    "mistral_new": mistral.new,
    "llama": lambda calls: "<|python_tag|>" + "; ".join(enveloped.envelopes(calls, "parameters")),
    "granite": lambda calls: "<|tool_call|>" + enveloped.array(calls),
    "phi": lambda calls: "functools" + enveloped.array(calls),
    "internlm": lambda calls: "\n".join(f"<|action_start|><|plugin|>\n{c}<|action_end|>" for c in enveloped.envelopes(calls, "parameters")),
    "jamba": lambda calls: f"<tool_calls>{enveloped.array(calls)}</tool_calls>",
    "cohere": enveloped.cohere,
    "inkling": enveloped.inkling,
    "longcat": lambda calls: "\n".join(f"<longcat_tool_call>\n{c}\n</longcat_tool_call>" for c in enveloped.envelopes(calls)),
    "nemotron": lambda calls: f"<TOOLCALL>{enveloped.array(calls)}</TOOLCALL>",
    "hermes_openerless": lambda calls: "\n".join(f"{c}\n</tool_call>" for c in enveloped.envelopes(calls)),
    "cohere_action": lambda calls: f"Action: ```json\n{enveloped.array(calls, 'parameters', 'tool_name')}\n```",
    "call_record": lambda calls: tagged.bare(tagged.invoke(calls, "", "x", "call_record", "tool")),
    "grok": lambda calls: tagged.invoke(calls, "", "xai:function_calls", "xai:function_call"),
    "json_array": enveloped.array,
    "json_tools": lambda calls: f"<tools>\n{chr(10).join(enveloped.envelopes(calls))}\n</tools>",
    "fence": lambda calls: f"```json\n{enveloped.array(calls)}\n```",
}
FAMILIES = {"deepseek_v31": "deepseek_v3", "glm_47": "glm", "mistral_old": "mistral", "mistral_new": "mistral"}
XML = frozenset({"qwen3_coder", "qwen3_named", "qwen3_cut", "dsml", "minimax_m2", "minimax_m3", "glm", "kimi_k3", "seed_oss", "step3", "minicpm", "hunyuan",
                 "k2_horizon", "dots", "muse", "call_record", "grok"})  # fmt: skip

MARKS = sorted({mark for dialect in DIALECTS.values() for mark in (*dialect.openers, *dialect.closers)})[::7]
WORDS = st.sampled_from([*MARKS, "</parameter>", "</function>", "</tool_call>", "</arg_value>", "<", ">", "a < b", "\n", " ", '"', "\\", "{", "}",
                         "é🌤", "null", "12", "&amp;", "```", "x"])  # fmt: skip
STRINGS = st.lists(WORDS, max_size=6).map(" ".join) | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30)
ARGUMENTS = {
    "read_file": st.fixed_dictionaries(
        {}, optional={"path": STRINGS, "limit": st.integers(), "deep": st.dictionaries(STRINGS, st.integers() | STRINGS, max_size=3)}
    ),
    "get_time": st.fixed_dictionaries({}, optional={"zone": STRINGS}),
    "write_file": st.fixed_dictionaries({"path": STRINGS, "content": STRINGS}),
}
CALLS = st.lists(st.sampled_from(list(ARGUMENTS)).flatmap(lambda n: st.tuples(st.just(n), ARGUMENTS[n])), min_size=1, max_size=3)
OFFER = request(*TOOLS, model="any")


def expressible(dialect: str, calls: Calls) -> bool:
    """Whether the format surely can: values in tags that hold the tags themselves are the patterns' matter."""
    if dialect == "minimax_m3":
        marks = [P]
    elif dialect in XML:
        own: Any = DIALECTS[FAMILIES.get(dialect, dialect)]
        marks = [mark.strip() for mark in (*own.openers, *own.closers, *own.parameter.begin, *own.parameter.end)]
    else:
        return True
    return not any(mark in raw(value) for _, arguments in calls for value in arguments.values() for mark in marks)


@pytest.mark.parametrize("name", WRITERS)
@given(calls=CALLS, sizes=st.lists(st.integers(1, 60), max_size=80), text=st.sampled_from(["", "Let me see.\n", "a < b\n\n"]))
def test_what_is_written_is_read(name: str, calls: Calls, sizes: list[int], text: str) -> None:
    dialect = FAMILIES.get(name, name)
    if not expressible(dialect, calls):
        return
    written = text + WRITERS[name](calls)
    deltas, at = [], 0
    for size in [*sizes, len(written)]:
        deltas.append(written[at : at + size])
        at += size
    body = b"".join([event(chunk({"role": "assistant"})), *(event(chunk({"content": d})) for d in deltas if d), event(chunk({}, "stop"))])
    pipeline = Pipeline(OFFER, settings=Settings(dialects=(dialect,)))
    answer = read(pipeline.feed(body) + pipeline.close())
    assert pipeline.error is None
    assert answer.all_faults == []
    assert [(call.name, call.value) for call in answer.only.calls] == calls
    assert answer.only.content.strip() == text.strip()
    assert answer.only.finish_reasons == ["tool_calls"]


def test_every_dialect_is_covered() -> None:
    own_tests = {"harmony", "harmony_stripped", "python_list", "olmo3", "lfm2", "gemma4", "functiongemma", "gemma_stripped", "gemini", "tool_code"}
    own_tests |= {"xml_call", "xml_misspelt", "minimax_arrow", "harmony_recipient", "gemma_headless"}  # in patterns/lost.py
    same_reader = {"anthropic", "minimax_invoke", "json_object", "claude", "apertus", "plamo3", "gigachat", "llama_python"}
    covered = {FAMILIES.get(name, name) for name in WRITERS} | own_tests | same_reader
    assert set(DIALECTS) <= covered


OFFERED = Tools({"get_time": {"properties": {"zone": {"type": "string"}, "deep": {"type": "object"}, "limit": {"type": "integer"}}}, "task": {}})
DSML = '<｜DSML｜function_calls><｜DSML｜invoke name="get_time"><｜DSML｜parameter name="{}</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>'

LFM = "<|tool_call_start|>["


def five(text: str) -> str:
    """It in five strings within one another."""
    for _ in range(5):
        text = dumps(text)
    return text


NONE = {  # what begins like a call and is none stays the text it is
    "no colon behind a name": ("apertus", '<|tools_prefix|>[{"get_time" {}}]<|tools_suffix|>'),
    "a member without a value": ("hermes", '<tool_call>\n{"x": , "name": "get_time", "arguments": {}}\n</tool_call>'),
    "a member without a colon": ("hermes", '<tool_call>\n{"x" {}, "name": "get_time", "arguments": {}}\n</tool_call>'),
    "two names, one as a tag has it": ("hermes", '<tool_call>\n{"name": "task", "function=get_time", "arguments": {}}\n</tool_call>'),
    "arguments that are no JSON": ("hermes", '<tool_call>\n{"name": "get_time", "arguments": nope}\n</tool_call>'),
    "a key that is cut": ("hermes", '<tool_call>\n{"name'),
    "an escape that is none": ("hermes", '<tool_call>\n{"name": "\\q", "arguments": {}}\n</tool_call>'),
    "what the user might say": ("harmony", "<|start|>user<|message|>Hi"),
    "a name and no call": ("inkling", "<|message_model|>get_time is one"),
    "arguments that are a text": ("kimi_k2", f'{B}functions.get_time:0{A}"no object"{C}'),
    "arguments that are a text of half an object": ("kimi_k2", f'{B}functions.get_time:0{A}"{{"{C}'),
    "arguments in strings without end": ("kimi_k2", f"{B}functions.get_time:0{A}{five('{}')}{C}"),
    "arguments that are a word": ("kimi_k2", f"{B}functions.get_time:0{A}nope{C}"),
    "null, and more": ("kimi_k2", f"{B}functions.get_time:0{A}null and more{C}"),
    "a bare counter and no object": ("kimi_k2", f"{B}3{A}none{C}"),
    "a bare counter and half an object": ("kimi_k2", f'{B}3{A}{{"zone": '),
    "a bare counter and no JSON": ("kimi_k2", f"{B}3{A}{{zone}}{C}"),
    "a counter behind no name, and a member that no tool has": ("kimi_k2", f'{B}functions.:0{A}{{"town": 1}}{C}'),
    "no name at all, and arguments that are a text": ("kimi_k2", f'{B}functions.{A}"x"{C}'),
    "a tag of thoughts in code": ("kimi_k3", "the tag `<|open|>think<|sep|>` begins a thought"),
    "no value": ("python_list", "[get_time(zone=)]"),
    "a parameter without a name": ("qwen3_coder", "<tool_call>\n<function=get_time>\n<parameter=<>x</parameter>\n</function>\n</tool_call>"),
}  # fmt: skip

READ = {  # what is read all the same: the arguments of the calls, and whether they ended
    "a fence that is not closed": (
        "deepseek_v3", '<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_time\n```json\n{"zone": "UTC"}\n<｜tool▁call▁end｜>', ['{"zone": "UTC"}'], True,
    ),
    "members behind the arguments": (
        "hermes", '<tool_call>\n{"name": "get_time", "arguments": {"zone": "UTC"}, "x": [1], "y": 2}\n</tool_call>', ['{"zone": "UTC"}'], True,
    ),
    "arguments beside the name": ("hermes", '<tool_call>\n{"name": "get_time", "zone": "UTC", "x": [1], "limit": 2}\n</tool_call>', ['{"zone": "UTC", "limit": 2}'], True),
    "arguments beside the name in a function": (
        "hermes", '<tool_call>\n{"type": "function", "function": {"zone": "a\nb", "name": "get_time"}}\n</tool_call>', ['{"zone": "a\\nb"}'], True,
    ),
    "arguments by another name": ("hermes", '<tool_call>\n{"name": "get_time", "params": {"zone": "UTC"}}\n</tool_call>', ['{"zone": "UTC"}'], True),
    "arguments by another name with a bare word": ("hermes", '<tool_call>\n{"name": "get_time", "params": {"zone": Utc}}\n</tool_call>', ['{"zone": "Utc"}'], True),
    "arguments by another name that are not JSON": ("hermes", '<tool_call>\n{"name": "get_time", "params": {"zone": f(1)}}\n</tool_call>', ["{}"], True),
    "members that are no arguments": ("hermes", '<tool_call>\n{"name": "get_time", "meta": {"at": 1}, "why": "x"}\n</tool_call>', ["{}"], True),
    "arguments beside the name that are no JSON": ("hermes", '<tool_call>\n{"name": "get_time", "zone": UTC}\n</tool_call>', ['{"zone": "UTC"}'], True),
    "arguments, and their like beside them": (
        "hermes", '<tool_call>\n{"zone": "a", "name": "get_time", "arguments": {"zone": "b"}}\n</tool_call>', ['{"zone": "b"}'], True,
    ),
    "a raw line end in a text": ("hermes", '<tool_call>\n{"x": "a\nb", "name": "get_time", "arguments": {}}\n</tool_call>', ["{}"], True),
    "a counter behind no name": ("kimi_k2", f'{B}functions.:0{A}{{"zone": "UTC"}}{C}', ['{"zone": "UTC"}'], True),
    "a colon behind no name": ("kimi_k2", f'{B}:3{A}{{"zone": "UTC"}}{C}', ['{"zone": "UTC"}'], True),
    "no name at all": ("kimi_k2", f'{B}functions.{A}{{"zone": "UTC"}}{C}', ['{"zone": "UTC"}'], True),
    "bare words": ("kimi_k2", f'{B}functions.get_time:0{A}{{"n": NaN, "t": Truth, "f": F}}{C}', ['{"n": NaN, "t": "Truth", "f": "F"}'], True),
    "strings as Python has them": ("kimi_k2", f"{B}functions.get_time:0{A}{{'zone': 'it\\'s', \"n\": '\"'}}{C}", ['{"zone": "it\'s", "n": "\\""}'], True),
    "a string as Python has it, cut": ("kimi_k2", f"{B}functions.get_time:0{A}{{'zone': 'it", ['{"zone": "it'], False),
    "arguments in two strings": ("kimi_k2", f'{B}functions.get_time:0{A}"\\"{{}}\\""{C}', ["{}"], True),
    "no token between name and arguments": ("kimi_k2", f'{B}get_time{{"zone": "UTC"}}{C}', ['{"zone": "UTC"}'], True),
    "elements that cross": (
        "minimax_m3", f'{P}<invoke name="get_time">{P}<deep>{P}<a>{P}<b>1{P}</a>{P}</deep>{P}</invoke>', [f'{{"deep": {{"a": "{P}<b>1"}}}}'], True,
    ),
    "elements with text beside them": (
        "minimax_m3", f'{P}<invoke name="get_time">{P}<deep>\n{P}<a>1{P}</a> or {P}</deep>{P}</invoke>', [f'{{"deep": "\\n{P}<a>1{P}</a> or "}}'], True,
    ),
    "an element without an end beside another": (
        "minimax_m3", f'{P}<invoke name="get_time">{P}<deep>{P}<a>1{P}</a>{P}<b>2{P}</deep>{P}</invoke>', [f'{{"deep": "{P}<a>1{P}</a>{P}<b>2"}}'], True,
    ),
    "elements on lines of their own": (
        "minimax_m3", f'{P}<invoke name="get_time">{P}<deep>\n{P}<a>1{P}</a>\n{P}</deep>\n{P}</invoke>', ['{"deep": {"a": "1"}}'], True,
    ),
    "elements in one another, more than are told apart": (
        "minimax_m3", f'{P}<invoke name="get_time">{P}<deep>{f"{P}<a>" * 66}1{f"{P}</a>" * 66}{P}</deep>{P}</invoke>',
        ['{"deep": ' + '{"a": ' * 64 + f'"{P}<a>{P}<a>1{P}</a>{P}</a>"' + "}" * 65], True,
    ),
    "all parameters in one, which are none": (
        "qwen3_coder", "<tool_call>\n<function=get_time>\n<parameter=arguments>\nall\n</parameter>\n</function>\n</tool_call>", ['{"arguments": "all"}'], True,
    ),
    "all parameters in one, of another tool": ("dsml", DSML.format('arguments" string="false">{"a": 1}'), ['{"arguments": {"a": 1}}'], True),
    "a key that is cut": ("gemma4", '<|tool_call>call:get_time{<|"|>zo', ['{"zo'], False),
    "a value without quotes that is cut": ("gemma4", "<|tool_call>call:get_time{limit:2,zone:in the, mor", ['{"limit": 2, "zone": "in the, mor'], False),
    "a list without quotes that is cut": ("functiongemma", "<start_function_call>call:get_time{deep:{a:[1,two", ['{"deep": {"a": [1, "two'], False),
    "a value without quotes or tokens that is cut": ("gemma_stripped", "call:get_time{zone:U (T) }C", ['{"zone": "U (T) }C'], False),
    "a value that is cut": ("qwen3_coder", "<tool_call>\n<function=get_time>\n<parameter=limit>\n1", ['{"limit": "1'], False),
    "an element that is cut": ("minimax_m3", ']<]minimax[>[<invoke name="get_time">]<]minimax[>[<limit>1 of', ['{"limit": "1 of'], False),
    "all parameters in one, cut": ("qwen3_coder", '<tool_call>\n<function=get_time>\n<parameter=arguments>\n{"zone": ', ['{"arguments": "{\\"zone\\": '], False),
    "an end tag that is cut": (
        "qwen3_coder", "<tool_call>\n<function=get_time>\n<parameter=zone>\nUTC\n</parameter>\n</func", ['{"zone": "UTC"'], False,
    ),
    "a tag inside a value": (
        "qwen3_coder", "<tool_call>\n<function=get_time>\n<parameter=zone>\na <parameter=x> b\n</parameter>\n</function>\n</tool_call>",
        ['{"zone": "a <parameter=x> b"}'], True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NONE)
def test_what_is_no_call(name: str) -> None:
    dialect, text = NONE[name]
    for at in range(len(text)):
        found = Told([text[:at], text[at:]], OFFERED, (dialect,))
        assert (found.content, found.calls, found.rules) == (text, [], [])


@pytest.mark.parametrize("name", READ)
def test_what_is_a_call_all_the_same(name: str) -> None:
    dialect, text, arguments, ended = READ[name]
    for at in range(len(text)):
        found = Told([text[:at], text[at:] + " ok" * ended], OFFERED, (dialect,))
        assert (found.content, found.calls) == (" ok" * ended, [[found.calls[0][0], "get_time", each] for each in arguments])
        assert bool(found.ended) == ended


@pytest.mark.parametrize("text", [f"{LFM}get_time(zone={'x' * 5000})", f"{LFM}get_time(limit=1, {'x' * 300}=2)"], ids=["word", "key"])
def test_what_is_too_long_for_a_call_is_text_behind_it(text: str) -> None:
    for size in (1, 1000):
        found = Told([text[at : at + size] for at in range(0, len(text), size)], OFFERED, ("lfm2",))
        assert "x" * 300 in found.content + "".join(arguments for _, _, arguments in found.calls)


@pytest.mark.parametrize("value", ["UTC", "a <parameter=x> b\n</parameter>"], ids=["without its end", "a tag inside"])
def test_an_end_tag_that_is_said_behind_a_call_is_none_of_its_value(value: str) -> None:
    """Nothing that could follow a value stands behind it."""
    text = f"<tool_call>\n<function=get_time>\n<parameter=zone>\n{value}\n</function>\n</tool_call> ends with </parameter> here"
    for at in range(len(text)):
        found = Told([text[:at], text[at:]], OFFERED, ("qwen3_coder",))
        assert (found.content, len(found.calls)) == (" ends with </parameter> here", 1)


def test_an_id_that_is_taken() -> None:
    found = Told([f"{B}functions.task:1{A}{{}}{C}{B}task{A}{{}}{C}"], OFFERED)
    assert [id_ for id_, _, _ in found.calls] == ["functions.task:1", "functions.task:2"]
