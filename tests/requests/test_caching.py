"""caching.py: which parts carry a breakpoint, as a string: the text of each part, with `*` where there is one."""

import pytest

from toolmend.requests.caching import EPHEMERAL, MAX_BREAKPOINTS, with_breakpoints
from toolmend.requests.conversation import Cache, Conversation, TextPart, Tool, ToolResult, ToolUse, Turn
from toolmend.requests.request_limits import Quirks

WANTS = Quirks(cache_control=True, breakpoints=True)
HOUR = {"type": "ephemeral", "ttl": "1h"}


def turn(role: str, text: str, cache: Cache = None) -> Turn:
    if role == "tool":
        return Turn("tool", (ToolResult(text, cache=cache),))
    assert role in ("system", "user", "assistant")
    return Turn(role, (TextPart(text, cache),))  # type: ignore[arg-type]


def marks(conversation: Conversation) -> str:
    holders = [*conversation.tools, *(part for turn in conversation.turns for part in turn.parts)]
    names = [getattr(each, "text", "") or getattr(each, "name", "") or getattr(each, "id", "") for each in holders]
    return " ".join(name + "*" * bool(getattr(each, "cache", None)) for name, each in zip(names, holders, strict=True))


TALK = (turn("system", "s"), turn("user", "u1"), Turn("assistant", (ToolUse("c", "a1", "{}"),)), turn("tool", "r1"), turn("assistant", "a2"), turn("user", "u2"))


def test_new_breakpoints_stand_at_the_ends() -> None:
    made = with_breakpoints(Conversation(api="chat", turns=TALK, tools=(Tool("t1"), Tool("t2"))), WANTS, [])
    assert marks(made) == "t1 t2* s* u1 a1 r1* a2 u2*"
    assert made.tools[1].cache == EPHEMERAL  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("api", "quirks"),
    [("messages", WANTS), ("chat", Quirks(cache_control=False, breakpoints=True)), ("chat", Quirks(cache_control=True, breakpoints=False))],
)
def test_none_are_set(api: str, quirks: Quirks) -> None:
    """A client of Messages decides itself; other upstreams have no such field, or cache without."""
    conversation = Conversation(api=api, turns=TALK, tools=(Tool("t1"),))
    assert with_breakpoints(conversation, quirks, []) is conversation


def test_the_clients_own_stay() -> None:
    conversation = Conversation(api="chat", turns=(turn("user", "u", EPHEMERAL), turn("assistant", "a")))
    assert with_breakpoints(conversation, WANTS, []) is conversation


def test_the_last_four_stay() -> None:
    turns = (*(turn("user", f"u{at}", EPHEMERAL) for at in range(4)), turn("system", "s", EPHEMERAL))
    notes: list[str] = []
    made = with_breakpoints(Conversation(api="messages", turns=turns, tools=(Tool("t", cache=EPHEMERAL),)), WANTS, notes)
    assert marks(made) == "t u0* u1* u2* u3* s"  # tools first, then the system
    assert notes == [f"Of 6 breakpoints of the cache the last {MAX_BREAKPOINTS} stay: this upstream takes no more"]


def test_a_longer_life_never_follows_a_shorter() -> None:
    notes: list[str] = []
    made = with_breakpoints(Conversation(api="messages", turns=(turn("user", "a", EPHEMERAL), turn("user", "b", HOUR))), WANTS, notes)
    assert [part.cache for each in made.turns for part in each.parts] == [EPHEMERAL, EPHEMERAL]  # type: ignore[union-attr]
    assert notes == ["The breakpoints of the cache have no `ttl`: this upstream wants longer ones first"]
    right = Conversation(api="messages", turns=(turn("user", "a", HOUR), turn("user", "b", EPHEMERAL)))
    assert with_breakpoints(right, WANTS, []) is right


def test_a_result_inside_loses_its_own() -> None:
    inner = Turn("tool", (ToolResult("r", (TextPart("x", EPHEMERAL),)),))
    many = tuple(turn("user", f"u{at}", EPHEMERAL) for at in range(4))
    made = with_breakpoints(Conversation(api="messages", turns=(inner, *many)), WANTS, [])
    assert made.turns[0].parts == (ToolResult("r", (TextPart("x"),)),)
