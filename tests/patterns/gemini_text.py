"""Gemini's own calls, where they reach the text: Gemma's notation with the module in front of the name, and Python.

See dialects/gemma.py and dialects/tool_code.py.
"""

from typing import Any

from tests.support.streams import pieces, request

from . import Pattern
from .family import TOOLS, family
from .gemma import BOTH, literal, wrote
from .python_list import call

GEMINI = "google/gemini-2.5-pro"
REQUEST = request(*TOOLS, model=GEMINI)
RULES, CODE = ("gemini", "finish_reason"), ("tool_code", "finish_reason")
HARD = "abc},path:1}/> call:default_api:x{ <ctrl4> \"> \" ' \\n"
HARD_CODE = """abc)) get_time(zone="x"))\n``` </tool_code> 'c' \\" \\\\n \\ """
Q = "<ctrl46>"


def gemini(calls: list[tuple[str, dict[str, Any]]]) -> str:
    return "\n".join(f"call:default_api:{name}{literal(given, Q)}" for name, given in calls)


def tool_code(calls: list[tuple[str, dict[str, Any]]]) -> str:
    lines = "".join(f"print(default_api.{call(*each)})\n" for each in calls)
    return f"```tool_code\n{lines}```"


def code(text: str, seed: int, calls: list[tuple[str | None, str, str]] = BOTH, **more: Any) -> Pattern:
    return wild(text, seed, calls, **{"rules": CODE, **more})


def prose(text: str, seed: int) -> Pattern:
    return Pattern(REQUEST, pieces(text, seed), content=text, expected_finish="stop")


def wild(text: str, seed: int, calls: list[tuple[str | None, str, str]] = BOTH, **more: Any) -> Pattern:
    return Pattern(REQUEST, pieces(text, seed), calls, **{"rules": RULES, **more})


FAMILIES = (
    (
        "gemini", gemini, HARD,
        ("It is `call:default_api:get_time{zone:UTC}`, call:default_api:rm{path:/}, call:default_api:get_time, call:get_time{}, "
        "<call:default_api: and declaration:default_api:get_time; print(default_api.get_time(zone='UTC')) <call:default_ap"),
    ),
    (
        "tool_code", tool_code, HARD_CODE,
        ("So: print(default_api.get_time(zone='UTC')), or\nprint(default_api.rm(path='/'))\n```tool_code\nzone = 1\n```\n"
        "print(default_api.get_time(\"UTC\"))\n`<tool_code>`\n```python\nprint(default_api.get_time(zone='UTC'))\n```\n<tool_co"),
    ),
)  # fmt: skip

PATTERNS: dict[str, Pattern] = {
    **{
        name: pattern
        for dialect, write, hard, said in FAMILIES
        for name, pattern in family(dialect, write, hard, model=GEMINI, prose=said).items()
        if not name.endswith("-in-reasoning")
    },
    "code-in-tags": code("<tool_code>\nprint(read_file(limit=20, path='a.md'))\nget_time(zone = \"UTC\")\n</tool_code> ok", 9, content=" ok"),
    "code-alone": code(
        "Look.\nprint(default_api.read_file(limit=20, path='a.md'))\nprint(default_api.get_time(zone='UTC'))", 10, content="Look.\n"
    ),
    "code-without-print": code("```tool_code\nread_file(limit=20, path='a.md')\nget_time(zone='UTC')\n```", 11),
    "code-of-gemma": Pattern(
        {**REQUEST, "model": "google/gemma-3-27b-it"}, pieces("I look:\n```tool_code\nread_file(limit=20, path='a.md')\nget_time(zone='UTC')\n```\nok", 17), BOTH,
        content="I look:\n\nok", rules=CODE,
    ),
    "code-with-a-bracket-missing": code("```tool_code\nprint(default_api.get_time(zone='UTC')\n```", 12, BOTH[1:]),
    "code-and-more": code("```tool_code\nprint(get_time(zone='UTC'))\nx = 1\n```", 13, BOTH[1:], content="\nx = 1\n```"),
    "code-over-lines": code('```tool_code\nprint(default_api.get_time(\n    zone="""UTC""",\n))\n```', 14, BOTH[1:]),
    "code-that-is-computed": prose("```tool_code\nprint(default_api.get_time(zone=zone + 1))\n```", 15),
    "code-never-in-reasoning": Pattern(
        REQUEST, pieces("```tool_code\nget_time(zone='UTC')\n```", 16), field="reasoning_content",
        reasoning="```tool_code\nget_time(zone='UTC')\n```", expected_finish="stop",
    ),
    "in-a-sentence": wild(
        f"I read it.call:default_api:read_file{{limit:20,path:{Q}a.md{Q}}} So:", 2, BOTH[:1], content="I read it. So:"
    ),
    "no-tokens": wild('call:default_api:read_file{limit:20,path:a.md}call:default_api:get_time{zone: "UTC"}', 3),
    "in-a-tag": wild(  # bayes-platform#620
        "<call:default_api:read_file{limit:20,path:a.md}/><call:default_api:get_time{zone: 'UTC'}>Here it is.", 4, content="Here it is.",
    ),
    "in-a-tag-text-with-brackets": wild(
        "<call:default_api:write_file{content:if (a) { b, c: d; }, e,path:x}/> ok", 5, wrote("if (a) { b, c: d; }, e"), content=" ok",
    ),
    "declaration": wild("declaration:default_api:get_time{zone:UTC}", 6, BOTH[1:]),  # hermes-agent#74771
    "token-in-front": wild(f"{Q}call:default_api:get_time{{zone:{Q}UTC{Q}}}", 7, BOTH[1:]),
    "never-in-reasoning": Pattern(
        REQUEST, pieces("call:default_api:get_time{zone:UTC}\n", 8), field="reasoning_content",
        reasoning="call:default_api:get_time{zone:UTC}\n", expected_finish="stop",
    ),
    "other-model": Pattern(
        request(*TOOLS, model="qwen/qwen3-coder"), [text := "call:default_api:get_time{zone:UTC}"], content=text, expected_finish="stop"
    ),
}  # fmt: skip
