"""Dialects of tags: GLM, Kimi K3, Seed-OSS, Step3, MiniCPM5, Hunyuan V3, dots, Muse, K2-Horizon."""

import re
from typing import Any

from tests.support.streams import pieces, request

from . import Pattern
from .family import TOOLS, dumps, family, raw

type Calls = list[tuple[str, dict[str, Any]]]


def glm(calls: Calls, gap: str = "\n") -> str:
    return "\n".join(
        f"<tool_call>{name}{gap}"
        + "".join(f"<arg_key>{k}</arg_key>{gap}<arg_value>{raw(v)}</arg_value>{gap}" for k, v in given.items())
        + "</tool_call>"
        for name, given in calls
    )


def seed(calls: Calls) -> str:
    inner = "\n".join(
        f"<function={name}>\n" + "".join(f"<parameter={k}>{raw(v)}</parameter>\n" for k, v in given.items()) + "</function>"
        for name, given in calls
    )
    return f"<seed:tool_call>\n{inner}\n</seed:tool_call>"


def invoke(calls: Calls, prefix: str = "", wrapper: str = "", tag: str = "invoke", name_is: str = "name") -> str:
    inner = "\n".join(
        f'<{prefix}{tag} {name_is}="{name}">\n'
        + "".join(f'<{prefix}parameter name="{k}">{raw(v)}</{prefix}parameter>\n' for k, v in given.items())
        + f"</{prefix}{tag}>"
        for name, given in calls
    )
    return f"<{wrapper}>{inner}</{wrapper}>"


def bare(markup: str) -> str:
    """Without what is around its first and last tag."""
    return markup[markup.index(">") + 1 : markup.rindex("<")]


def step3(calls: Calls) -> str:
    inner = "\n".join(
        f'<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="{name}">'
        + "".join(f'<steptml:parameter name="{k}">{raw(v)}</steptml:parameter>' for k, v in given.items())
        + "</steptml:invoke><｜tool_call_end｜>"
        for name, given in calls
    )
    return f"<｜tool_calls_begin｜>{inner}<｜tool_calls_end｜>"


def minicpm(calls: Calls) -> str:
    return "\n".join(
        f'<function name="{name}">' + "".join(f'<param name="{k}">{raw(v)}</param>' for k, v in given.items()) + "</function>"
        for name, given in calls
    )


def keyed(calls: Calls, prefix: str, separator: str) -> str:
    inner = "".join(
        f"<{prefix}tool_call>{name}{separator}"
        + "".join(
            f"<{prefix}arg_key>{k}</{prefix}arg_key><{prefix}arg_value>{raw(v)}</{prefix}arg_value>" for k, v in given.items()
        )
        + f"</{prefix}tool_call>"
        for name, given in calls
    )
    return f"<{prefix}tool_calls>{inner}</{prefix}tool_calls>"


def labelled(markup: str) -> str:
    return re.sub("(tool_calls?|tool_sep|arg_key|arg_value)>", r"\1:opensource>", markup)


def kimi_k3(calls: Calls, gap: str = "") -> str:
    inner = "".join(
        f'<|open|>{gap}call tool="{name}" index="{n}"{gap}<|sep|>'
        + "".join(
            f'<|open|>{gap}argument key="{k}" type="{_type(v)}"{gap}<|sep|>{raw(v)}<|close|>{gap}argument{gap}<|sep|>'
            for k, v in given.items()
        )
        + f"<|close|>{gap}call{gap}<|sep|>"
        for n, (name, given) in enumerate(calls, 1)
    )
    return f"<|open|>{gap}tools{gap}<|sep|>{inner}<|close|>{gap}tools{gap}<|sep|>"


def _type(value: Any) -> str:
    return {str: "string", int: "number", dict: "object"}[type(value)]


BOTH: Calls = [("read_file", {"path": "a.md", "limit": 20}), ("get_time", {"zone": "UTC"})]
EXPECTED = [(None, name, dumps(given)) for name, given in BOTH]
GLM = request(*TOOLS, model="z-ai/glm-4.6")
CLAUDE = request(*TOOLS, model="anthropic/claude-opus-4.8")
DEEPSEEK = request(*TOOLS, model="deepseek/deepseek-v4-flash")
ENDS = "a <|close|>call<|sep|><|close|>tools<|sep|> b"
K3 = request(*TOOLS, model="moonshotai/kimi-k3")


def wild(offer: dict[str, Any], text: str, rule: str, seed_: int, **more: Any) -> Pattern:
    return Pattern(offer, pieces(text, seed_), more.pop("calls", EXPECTED), rules=(rule, "finish_reason"), **more)


PATTERNS: dict[str, Pattern] = {
    **family(
        "glm", glm, "a </arg_value> b </tool_call> c <arg_key> d", model="z-ai/glm-4.6",
        prose="GLM writes <tool_call>name, then <arg_key>; <tool_call>get_time is one, <tool_call>\nnot.",
    ),
    "glm-no-newlines": wild(GLM, glm(BOTH, ""), "glm", 1),
    "glm-literal-newlines": wild(GLM, glm(BOTH, "\\n"), "glm", 2),
    "glm-blanks": wild(GLM, glm(BOTH, " "), "glm", 3),
    "glm-no-end": wild(GLM, glm(BOTH)[: -len("\n</tool_call>")], "glm", 4),
    # by models under load (vllm#49248: 5 to 17 % of calls, vllm#47190, #54971, sigit#95)
    "glm-values-not-opened": wild(GLM, glm(BOTH, "").replace("<arg_value>", ""), "glm", 61),
    "glm-values-not-opened-newlines": wild(GLM, glm(BOTH).replace("<arg_value>", ""), "glm", 62),
    "glm-keys-not-opened": wild(GLM, glm(BOTH, "").replace("<arg_key>", ""), "glm", 63),
    "glm-keys-not-opened-blanks": wild(GLM, glm(BOTH).replace("<arg_key>", ""), "glm", 64),
    "glm-keys-opened-as-calls": wild(GLM, glm(BOTH, "").replace("file<arg_key>", "file<tool_call>").replace("time<arg_key>", "time<tool_call>"), "glm", 65),
    "glm-keys-opened-twice": wild(GLM, glm(BOTH, "").replace("<arg_key>", "<arg_key><arg_key>"), "glm", 66),
    "glm-keys-closed-twice": wild(GLM, glm(BOTH).replace("</arg_key>", "</arg_key></arg_key>"), "glm", 67),
    "glm-keys-not-closed": wild(GLM, glm(BOTH, "").replace("</arg_key>", ""), "glm", 69),
    "glm-keys-closed-as-values": wild(GLM, glm(BOTH).replace("</arg_key>", "</arg_value>"), "glm", 70),
    "glm-values-closed-as-keys": wild(GLM, glm(BOTH).replace("</arg_value>", "</arg_key>"), "glm", 71),
    "glm-no-arguments-no-end": wild(GLM, "<tool_call>get_time" + glm(BOTH, ""), "glm", 68, calls=[(None, "get_time", "{}"), *EXPECTED]),
    "glm-name-of-no-tool": Pattern(GLM, [text := "<tool_call>read_filesize</arg_key><arg_value>1</arg_value></tool_call>"], content=text, expected_finish="stop"),
    "glm-envelope-inside": wild(GLM, '<tool_call>{"name": "get_time", "arguments": {"zone": "UTC"}}</tool_call>', "hermes", 5, calls=EXPECTED[1:]),
    **family(
        "kimi-k3", kimi_k3, "a <|close|>argument<|sep|> b <|close|>call<|sep|> c <|open|>argument d", model="moonshotai/kimi-k3",
        rule="kimi_k3", prose="K3 writes <|open|>tools<|sep|>, <|open|>call and <|close|>tools<|sep|>.",
    ),
    "kimi-k3-spaced": wild(K3, kimi_k3(BOTH, " "), "kimi_k3", 6),
    "kimi-k3-no-wrapper": wild(K3, kimi_k3(BOTH)[len("<|open|>tools<|sep|>") : -len("<|close|>tools<|sep|>")], "kimi_k3", 7),
    "kimi-k3-channels": wild(
        K3, f"<|open|>response<|sep|>Hello.<|close|>response<|sep|>{kimi_k3(BOTH)}<|close|>message<|sep|>", "kimi_k3", 20,
        content="Hello.",
    ),
    "kimi-k3-thought": Pattern(
        request(*TOOLS, model="acme-1"),
        pieces("<|open|>think<|sep|>Hm.<|close|>think<|sep|><|open|>response<|sep|>Hello.<|close|>response<|sep|>", 21),
        reasoning="Hm.", content="Hello.", expected_finish="stop", rules=("kimi_k3",),
    ),
    "kimi-k3-attributes": wild(
        K3, '<|open|>call index="1" tool="get_time"<|sep|><|open|>argument type="string" key="a&amp;&quot;b"<|sep|>x&amp;y'
        "<|close|>argument<|sep|><|close|>call<|sep|>", "kimi_k3", 22, calls=[(None, "get_time", '{"a&\\"b": "x&amp;y"}')],
    ),
    "kimi-k3-ends-in-a-value": wild(
        K3, kimi_k3([("write_file", {"path": "x", "content": ENDS}), *BOTH[1:]]), "kimi_k3", 23,
        calls=[(None, "write_file", dumps({"path": "x", "content": ENDS})), *EXPECTED[1:]],
    ),
    "kimi-k3-json-block": wild(
        K3,
        '<|open|>call tool="get_time" index="1"<|sep|><|open|>json type="object"<|sep|>{"zone": "UTC"}<|close|>json<|sep|><|close|>call<|sep|>',
        "kimi_k3", 8, calls=EXPECTED[1:],
    ),
    **family(
        "seed", seed, "a </parameter> b </function> c </seed:tool_call> d\n", model="bytedance/seed-oss-36b", rule="seed_oss",
        prose="Seed writes <seed:tool_call> and <function=read_file>, then </seed:tool_call>.",
    ),
    **family(
        "step3", step3, "a </steptml:parameter> b </steptml:invoke> c <｜tool_call_end｜>", model="stepfun-ai/step3",
        prose="<｜tool_calls_begin｜> and <｜tool_call_begin｜>function<｜tool_sep｜> are Step3's.",
    ),
    **family(
        "minicpm", minicpm, "a </param> b </function> c", model="openbmb/minicpm5", prose='<function name="x"> is how it begins, </function> ends.',
    ),
    "minicpm-cdata": wild(
        request(*TOOLS, model="openbmb/minicpm5"),
        '<function name="get_time"><param name="zone"><![CDATA[a </param> <b>]]></param></function>', "minicpm", 9,
        calls=[(None, "get_time", '{"zone": "a </param> <b>"}')],
    ),
    **family(
        "hunyuan", lambda calls: keyed(calls, "", "<tool_sep>"), "a </arg_value> b </tool_call> c", model="tencent/hunyuan-v3",
        prose="Hunyuan: <tool_calls><tool_call>name<tool_sep>, </tool_calls>.",
    ),
    **family(
        "hunyuan-label", lambda calls: labelled(keyed(calls, "", "<tool_sep>")), "a </arg_value:opensource> b </tool_call:opensource> c",
        model="tencent/hy3", rule="hunyuan", prose="Hy3: <tool_calls:opensource><tool_call:opensource>name<tool_sep:opensource>, </tool_calls>.",
    ),
    **family(
        "k2-horizon", lambda calls: keyed(calls, "ifm|", ""), "a </ifm|arg_value> b </ifm|tool_call> c", model="llm360/k2-horizon",
        rule="k2_horizon", prose="<ifm|tool_calls> begins, <ifm|tool_call> {x}.",
    ),
    **family(
        "dots", lambda calls: invoke(calls, "", "dots_function_call"), "a </parameter> b </invoke> c", model="rednote/dots.llm1",
        prose="<dots_function_call> begins; <invoke name='x'> too.",
    ),
    **family(
        "muse", lambda calls: invoke(calls, "atem:", "atem:function_calls"), "a </atem:parameter> b </atem:invoke> c",
        model="muse", prose="<atem:function_calls> begins; <atem:invoke what.",
    ),
    **{name: pattern for name, pattern in family(
        "invoke", lambda calls: invoke(calls, "", "function_calls"), "a </parameter> b </invoke> c </function_calls> d",
        model="anthropic/claude-opus-4.8", rule="claude", prose='Claude writes <invoke name="get_time"> or `<function_calls>`, then </invoke>.',
    ).items() if name != "invoke-in-reasoning"},
    "invoke-in-reasoning": Pattern(
        DEEPSEEK, pieces("So:\n" + bare(invoke(BOTH)), 67), EXPECTED, reasoning="So:\n", field="reasoning_content", rules=("anthropic", "finish_reason"),
    ),
    "invoke-in-signed-reasoning": Pattern(
        CLAUDE, pieces(bare(invoke(BOTH)), 67), reasoning=bare(invoke(BOTH)), field="reasoning_content", expected_finish="stop",
    ),
    "invoke-behind-a-stray-word": wild(CLAUDE, "court\n" + bare(invoke(BOTH)), "claude", 60, content="court\n"),
    "invoke-with-a-prefix": wild(CLAUDE, invoke(BOTH, "antml:", "antml:function_calls"), "claude", 61),
    "invoke-block-not-opened": wild(CLAUDE, "call\n" + invoke(BOTH, "", "function_calls")[len("<function_calls>") :], "claude", 62, content="call\n"),
    "invoke-in-a-line": Pattern(
        CLAUDE, [text := 'Say <invoke name="get_time"><parameter name="zone">UTC</parameter></invoke>, as in <function_calls>.'], content=text,
        expected_finish="stop",
    ),
    "invoke-by-deepseek": wild(DEEPSEEK, bare(invoke(BOTH)), "anthropic", 63),
    "invoke-is-dsml-without-its-mark": wild(  # a special token that the detokenizer skips
        DEEPSEEK,
        invoke(BOTH, "", "tool_calls").replace('path"', 'path" string="true"').replace('limit"', 'limit" string="false"') + " ok", "anthropic", 66,
        content=" ok",
    ),
    "invoke-by-kimi": wild(request(*TOOLS, model="moonshotai/kimi-k2.5"), bare(invoke(BOTH)), "anthropic", 64),
    "invoke-in-a-fence": Pattern(CLAUDE, [f"So:\n```xml\n{bare(invoke(BOTH))}\n```\n"], content=f"So:\n```xml\n{bare(invoke(BOTH))}\n```\n", expected_finish="stop"),
}  # fmt: skip
