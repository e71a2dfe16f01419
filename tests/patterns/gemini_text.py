"""Gemini's own calls, where they reach the text: Gemma's notation with the module in front of the name (dialects/gemma.py)."""

from typing import Any

from streams import pieces, request

from . import Pattern
from .family import TOOLS, family
from .gemma import BOTH, literal, wrote

GEMINI = "google/gemini-2.5-pro"
REQUEST = request(*TOOLS, model=GEMINI)
RULES = ("gemini", "finish_reason")
HARD = "abc},path:1}/> call:default_api:x{ <ctrl4> \"> \" ' \\n"
Q = "<ctrl46>"


def gemini(calls: list[tuple[str, dict[str, Any]]]) -> str:
    return "\n".join(f"call:default_api:{name}{literal(given, Q)}" for name, given in calls)


def wild(text: str, seed: int, calls: list[tuple[str | None, str, str]] = BOTH, **more: Any) -> Pattern:
    return Pattern(REQUEST, pieces(text, seed), calls, **{"rules": RULES, **more})


PATTERNS: dict[str, Pattern] = {
    **{
        name: pattern
        for name, pattern in family(
            "gemini", gemini, HARD, model=GEMINI,
            prose="It is `call:default_api:get_time{zone:UTC}`, call:default_api:rm{path:/}, call:default_api:get_time, call:get_time{}, "
            "<call:default_api: and declaration:default_api:get_time; print(default_api.get_time(zone='UTC')) <call:default_ap",
        ).items()
        if not name.endswith("-in-reasoning")
    },
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
