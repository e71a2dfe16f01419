"""Every dialect against generated calls: what is written as a model would write it is read back, however it is cut."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge import read
from patterns import enveloped, mistral, tagged
from patterns.family import TOOLS, dumps, raw
from patterns.minimax import P
from streams import chunk, event, request
from toolmend.config.settings import Settings
from toolmend.dialects import DIALECTS
from toolmend.pipeline import Pipeline

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
    "json_array": enveloped.array,
    "fence": lambda calls: f"```json\n{enveloped.array(calls)}\n```",
}
FAMILIES = {"deepseek_v31": "deepseek_v3", "glm_47": "glm", "mistral_old": "mistral", "mistral_new": "mistral"}
XML = frozenset({"qwen3_coder", "dsml", "minimax_m2", "minimax_m3", "glm", "kimi_k3", "seed_oss", "step3", "minicpm", "hunyuan",
                 "k2_horizon", "dots", "muse"})  # fmt: skip

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
    own_tests = {"harmony", "harmony_stripped", "python_list", "olmo3", "lfm2", "gemma4", "functiongemma", "gemma_stripped"}
    same_reader = {"minimax_invoke", "json_object", "apertus", "plamo3", "gigachat", "llama_python"}
    covered = {FAMILIES.get(name, name) for name in WRITERS} | own_tests | same_reader
    assert set(DIALECTS) <= covered
