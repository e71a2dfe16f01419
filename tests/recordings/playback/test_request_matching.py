"""request_matching.py: which recording answers, in which turn, and what is said where none does."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.streams import tool
from toolmend.recordings.playback.request_fingerprint import Ask, ask_of
from toolmend.recordings.playback.request_matching import Miss, Shelf, Take

CHAT = "/v1/chat/completions"


def asked(*messages: str, api: str = "chat", model: str = "kimi", stream: bool = True, **more: Any) -> Ask:
    """Each message in its turn: the user, the model, the user …"""
    turns = [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(messages)]
    return ask_of(api, CHAT, {"model": model, "stream": stream, "messages": turns, **more})


def take(name: str, *asks: Ask, whole: bool = True) -> Take:
    return Take(Path(name), asks, asks[0].api, asks[0].api, whole)


def played(shelf: Shelf, *requests: Ask) -> list[str]:
    return [found.name if isinstance(found := shelf.find(request), Take) else "-" for request in requests]


WEATHER, TIME = asked("How is the weather?"), asked("What is the time?")


def test_by_the_last_message() -> None:
    shelf = Shelf([take("weather", WEATHER), take("time", TIME)])
    assert played(shelf, TIME, WEATHER, asked("Who is it?"), TIME) == ["time", "weather", "-", "time"]


@pytest.mark.parametrize("other", [{"api": "messages"}, {"model": "glm"}, {"stream": False}])
def test_api_model_and_form_count(other: dict[str, Any]) -> None:
    shelf = Shelf([take("a", WEATHER)])
    assert played(shelf, asked("How is the weather?", **other)) == ["-"]
    assert played(shelf, asked("How is the weather?", model="KIMI")) == ["a"]


def test_equal_ones_each_once_and_then_again() -> None:
    shelf = Shelf([take("error", WEATHER), take("retry", WEATHER), take("time", TIME)])
    assert played(shelf, WEATHER, WEATHER, TIME, WEATHER, WEATHER) == ["error", "retry", "time", "error", "retry"]


def test_the_conversation_decides_between_equal_messages() -> None:
    long, short = asked("a", "b", "c", "d", "ok"), asked("c", "d", "ok")
    shelf = Shelf([take("other", asked("x", "y", "ok")), take("short", short), take("long", long)])
    assert played(shelf, long, short, long, asked("d", "d", "ok")) == ["long", "short", "long", "short"]
    assert played(shelf, asked("ok")) == ["other"]


def test_then_the_tools() -> None:
    title, main = asked("Hi"), asked("Hi", tools=[tool("read")])
    shelf = Shelf([take("title", title), take("main", main)])
    assert played(shelf, main, main, title, asked("Hi", tools=[tool("write")])) == ["main", "main", "title", "title"]


def test_a_beginning_comes_last() -> None:
    shelf = Shelf([take("beginning", WEATHER, whole=False), take("whole", WEATHER)])
    assert played(shelf, WEATHER, WEATHER) == ["whole", "whole"]
    assert played(Shelf([take("beginning", WEATHER, whole=False)]), WEATHER) == ["beginning"]


def test_any_of_its_requests() -> None:
    shelf = Shelf([take("a", WEATHER, asked("How is the weather?", model="glm"))])
    assert played(shelf, WEATHER, asked("How is the weather?", model="glm")) == ["a", "a"]


def test_in_order() -> None:
    """Each once, whatever is asked, as long as it can be read."""
    whole = asked("c", stream=False)
    shelf = Shelf([take("1", WEATHER), take("2", TIME), take("3", whole), take("4", asked("d"))], order=True)
    assert played(shelf, TIME, whole, asked("x", model="glm"), TIME, TIME) == ["1", "3", "2", "4", "-"]
    assert shelf.find(WEATHER) == Miss("all recordings of chat that are a stream were played, in order")


def test_without_messages_nothing_answers_but_in_order() -> None:
    bare = Ask("chat", "kimi", stream=True)
    assert played(Shelf([take("a", bare)]), bare, WEATHER) == ["-", "-"]
    assert played(Shelf([take("a", bare)], order=True), WEATHER) == ["a"]


LONG = "x" * 300
NEAREST = {
    # the recordings, the request, the name of the nearest, what differs, the texts
    "the model": ([WEATHER, asked("x", model="glm")], asked("x", model="gpt"), "1", "its model is 'glm', not 'gpt'", ""),
    "no model": ([asked("x", model="")], asked("x"), "0", "its model is 'none', not 'kimi'", ""),
    "the form": ([WEATHER], asked("How is the weather?", stream=False), "0", "it is a stream, not a whole message", ""),
    "the API": ([WEATHER], asked("How is the weather?", api="messages"), "0", "it is of the API chat, not messages", ""),
    "the words": (
        [asked("Who?"), WEATHER, asked("How are you?")],
        asked("How is the wether?"),
        "1",
        "new message 1 of 1 differs from character 14 on",
        "asked: How is the wether?; recorded: How is the weather?",
    ),
    "the same conversation": (
        [asked("Hi.", "Hello.", "What?"), asked("a", "b", "What?")],
        asked("a", "b", "Why?"),
        "1",
        "new message 1 of 1 differs from character 3 on",
        "asked: Why?; recorded: What?",
    ),
    "a long text": (
        [asked(LONG + "a" + LONG)],
        asked(LONG + "b" + LONG),
        "0",
        "new message 1 of 1 differs from character 301 on",
        f"asked: …{'x' * 40}b{'x' * 39}…; recorded: …{'x' * 40}a{'x' * 39}…",
    ),
    "how many": (
        [ask_of("chat", CHAT, {"model": "kimi", "stream": True, "messages": [{"role": "user", "content": "a"}] * 2})],
        asked("a"),
        "0",
        "it answers 2 new messages, not 1",
        "",
    ),
    "all of it": (
        [asked("a", api="responses", model="glm", stream=False)],
        asked("a"),
        "0",
        "it is of the API responses, not chat, and its model is 'glm', not 'kimi', and it is a whole message, not a stream",
        "",
    ),
    "no messages": ([Ask("chat", "kimi", stream=True)], Ask("chat", "kimi", stream=True), "0", "there is no message to compare", ""),
}


@pytest.mark.parametrize("name", NEAREST)
def test_the_nearest_is_named(name: str) -> None:
    asks, request, nearest, different, excerpt = NEAREST[name]
    miss = Shelf([take(str(at), ask) for at, ask in enumerate(asks)]).find(request)
    assert miss == Miss(f"no recording answers this request; the nearest is {nearest}, but {different}", excerpt)


def test_there_are_none() -> None:
    assert Shelf([]).find(WEATHER) == Miss("no recording answers this request: the folder has none")
