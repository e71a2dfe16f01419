"""Streams for policies, and an oracle of each policy."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.judges.chat import Answer, read
from tests.support.streams import WEATHER, chunk, event, pieces, play
from toolmend.config.settings import Settings
from toolmend.pipeline.pipeline import Pipeline

type Said = tuple[str, Any]

MIXED, FIRST, DRAIN = Settings(), Settings(policy="first"), Settings(policy="drain")
TWO = Settings(policy="collect", max_calls=2)
COLLECT = Settings(policy="collect")
POLICIES = {"mixed": MIXED, "first": FIRST, "collect": COLLECT, "collect two": TWO, "drain": DRAIN}


def arguments(number: int, more: str = "") -> str:
    return f'{{"description": "number {number}{more}"}}'


def markup(number: int, more: str = "") -> str:
    """A call in a text."""
    return (
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.task:{number}<|tool_call_argument_begin|>"
        f"{arguments(number, more)}<|tool_call_end|><|tool_calls_section_end|>"
    )


def native(number: int) -> dict[str, Any]:
    """A call of the upstream's own, in one delta; `number` is its index there."""
    function = {"name": "get_weather", "arguments": f'{{"city": "{number}"}}'}
    return {"tool_calls": [{"index": number, "id": f"call_{number}", "type": "function", "function": function}]}


def deltas(said: Iterable[Said], sizes: Sequence[int] = (3, 9, 30)) -> list[dict[str, Any]]:
    """text, reasoning, a call in either, or a native call, as a stream says them."""
    out: list[dict[str, Any]] = []
    natives = 0
    for number, (kind, what) in enumerate(said):
        match kind:
            case "text" | "call":
                out += ({"content": part} for part in pieces(what if kind == "text" else markup(what), number, sizes))
            case "reasoning" | "call in reasoning":
                text = what if kind == "reasoning" else markup(what)
                out += ({"reasoning_content": part} for part in pieces(text, number, sizes))
            case _:
                out.append(native(natives))
                natives += 1
    return out


@dataclass
class Passed:
    """What a client is to read."""

    content: str = ""
    reasoning: str = ""
    calls: list[str] = field(default_factory=list)
    stopped: bool = False


def oracle(said: Iterable[Said], settings: Settings) -> Passed:
    """What passes while no limit but that of the calls is reached."""
    most = {"first": 1, "collect": settings.max_calls}.get(settings.policy, 1000)
    passed = Passed()
    found = natives = 0
    for kind, what in said:
        if found == most:
            passed.stopped = True
            break
        match kind:
            case "text":
                passed.content += what
            case "reasoning":
                passed.reasoning += what
            case "native":
                passed.calls.append(f'{{"city": "{natives}"}}')
                natives += 1
            case _:
                passed.calls.append(arguments(what))
                found += 1
    if settings.policy == "drain" and found:
        passed.content = ""
    return passed


def told(answer: Answer) -> Passed:
    """What a client reads; that it is legal is seen to."""
    assert answer.all_faults == []
    assert answer.done
    only = answer.only
    assert only.finish_reasons == ["tool_calls" if only.calls else "stop"]
    return Passed(only.content, only.reasoning, [call.arguments for call in only.calls])


def make(settings: Settings, *, request: dict[str, Any] = WEATHER, **more: Any) -> Pipeline:
    return Pipeline(request, settings=settings, **{"now": lambda: 0.0, **more})


def run(settings: Settings, chunks: Iterable[bytes], **more: Any) -> tuple[bytes, list[str]]:
    """The client's bytes and the rules that fired."""
    pipelines: list[Pipeline] = []

    def new() -> Pipeline:
        pipelines.append(make(settings, **more))
        return pipelines[0]

    return play(new, chunks), pipelines[0].rules


SAID: dict[str, list[Said]] = {
    "all there is": [
        ("reasoning", "Hm. "), ("text", "First: "), ("call", 1), ("text", " then "), ("reasoning", "Hm? "),
        ("native", 0), ("call", 2), ("text", "or"), ("call", 3), ("text", " and"), ("native", 0), ("reasoning", "!"),
    ],
    "a call alone": [("call", 1)],
    "calls alone": [("call", number) for number in range(4)],
    "more calls than there may be": [("call", number) for number in range(10)],
    "in reasoning": [
        ("reasoning", "So: "), ("call in reasoning", 1), ("reasoning", "And "), ("call in reasoning", 2),
        ("text", "Hi"),
    ],
    "native first": [("native", 0), ("text", "Now "), ("call", 1), ("native", 0), ("call", 2)],
    "native alone": [("text", "Now "), ("native", 0), ("reasoning", "hm"), ("text", " so"), ("native", 0)],
    "no call": [("reasoning", "hm"), ("text", "Hello"), ("reasoning", "hm"), ("text", " there <b>")],
}  # fmt: skip


def calls(answer: Answer) -> list[str]:
    return [call.arguments for call in answer.only.calls]


class Live:
    """A pipeline, a clock, and what has come out so far."""

    def __init__(self, settings: Settings, **more: Any) -> None:
        self.time = 0.0
        self.out = b""
        self.pipeline = make(settings, now=lambda: self.time, **more)
        self.say({"role": "assistant"})

    def say(self, *deltas_: dict[str, Any] | Said, at: float | None = None) -> Answer:
        self.time = self.time if at is None else at
        for delta in deltas_:
            for each in deltas([delta]) if isinstance(delta, tuple) else [delta]:
                self.out += self.pipeline.feed(event(chunk(each)))
        return read(self.out)

    def finish(self) -> Answer:
        self.out += self.pipeline.feed(event(chunk({}, "stop")) + event("[DONE]"))
        assert self.pipeline.close() == b""
        assert self.pipeline.error is None
        return read(self.out)
