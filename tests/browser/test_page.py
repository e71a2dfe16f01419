"""The page of `toolmend show --html`, in a real Chromium: run by scripts/test-browser."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.chromium import Chromium, Page
from tests.support.recordings import in_events, keep
from tests.support.streams import WEATHER, pieces, stream
from tests.support.upstream_answers import Asked, Text, Thought, asked, speak
from toolmend.cli.views.page import render
from toolmend.recordings.read import replay
from toolmend.recordings.read.document import document
from toolmend.recordings.read.library import entry

KIMI = "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
CALL = [KIMI[:12], KIMI[12:40], KIMI[40:] + '{"city": "Os', 'lo"}', "<|tool_call_end|><|tool_calls_section_end|>"]
EVIL = "</script><script>window.evil=1</script><!-- <script> --> <img src=x onerror=window.evil=2> <svg/onload=window.evil=3> {{7*7}} \u2028 \u202e"
WORD = "x" * 400  # nothing to break it at


@pytest.fixture(scope="session")
def browser() -> Iterator[Chromium]:
    with Chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def urls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The pages, by name."""
    root = tmp_path_factory.mktemp("pages")
    many = [f"word{n} " for n in range(20_000)]
    hostile: dict[str, Any] = {"model": EVIL, "host": WORD, "path": "/" + WORD, "request_headers": [[EVIL, EVIL], [WORD, WORD]], "notes": [EVIL, WORD]}
    ask = {**WEATHER, "messages": [{"role": "user", "name": EVIL, "content": EVIL + WORD}], EVIL: EVIL, WORD: WORD}
    folders = [
        keep(root / "mended", in_events(stream(["Let me.", *CALL], finish="stop")), every=300.0),
        keep(root / "evil", in_events(stream([*pieces(EVIL, 3), EVIL, WORD, *CALL])), ask, **hostile),
        keep(root / "large", in_events(stream([*many, *CALL])), every=9.5),
        keep(root / "nothing", [], client=b"", state="upstream_error", error="connection refused"),
        keep(root / "whole", [b'{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}'], stream=False),
        keep(
            root / "translated",
            in_events(speak("chat", [Thought("Hm."), Text("Let me look."), Asked("c1", "get_weather", '{"city":"Oslo"}')], "tool_calls")),
            asked("messages", ("get_weather", {"city": {"type": "string"}})),
            client_api="messages",
            route="kimi",
        ),
    ]
    for folder in folders:
        (root / f"{folder.name}.html").write_text(render(document(entry(folder), replay.load(folder))))
    return {folder.name: (root / f"{folder.name}.html").as_uri() for folder in folders}


def text(page: Page, selector: str) -> str:
    return str(page.eval(f"document.querySelector({json.dumps(selector)}).innerText"))


def chosen(page: Page) -> int:
    return int(page.eval("Number(document.querySelector('.row.chosen').dataset.n)"))


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["mended", "evil", "large", "nothing", "whole", "translated"])
def test_readable_everywhere(name: str, dark: bool, width: int, browser: Chromium, urls: dict[str, str]) -> None:
    """No complaint, no request, no overflow, and enough contrast, in every tab and view."""
    page = browser.page(urls[name], width=width, dark=dark)
    for key in "1r2c3qhu":
        page.key(key)
        if name == "evil":
            page.eval("document.querySelectorAll('#about details').forEach((one) => one.open = true)")
            page.drawn()
        wide = page.eval("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert wide[0] <= wide[1], key
        out = page.eval("['bytes', 'about', 'list'].filter((id) => document.getElementById(id).scrollWidth > document.getElementById(id).clientWidth)")
        assert out == [], key
    assert page.said == []
    assert page.eval("window.evil") is None
    ratios = page.eval(CONTRAST)
    assert {name: ratio for name, ratio in ratios if ratio < 4.5} == {}


CONTRAST = """(() => {
  const light = (color) => {
    const [r, g, b] = color.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255).map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (one) => {
    for (; one; one = one.parentElement) {
      const color = getComputedStyle(one).backgroundColor;
      if (!color.endsWith(', 0)')) return color;
    }
    return 'rgb(255, 255, 255)';
  };
  const found = [...document.querySelectorAll('h1, h2, p, b, td, th, pre, mark, button, .row span, .kind, #count')].filter((one) => one.textContent && one.offsetParent && one.id !== 'moment');
  return found.slice(0, 400).map((one) => {
    const [a, b] = [light(getComputedStyle(one).color), light(behind(one))];
    return [one.tagName + '.' + one.className + '#' + one.id, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
  });
})()"""


def test_what_one_has_come_to_see(browser: Chromium, urls: dict[str, str]) -> None:
    page = browser.page(urls["mended"])
    assert chosen(page) == 3
    assert "became a real tool call" in text(page, "#about")
    assert text(page, "#which") == "event 3 of 10, 600 ms, held back"
    assert "Raw, events 3 to 5" in text(page, "#bytes")
    assert "get_weather" in page.eval("[...document.querySelectorAll('#bytes .in')].map((one) => one.innerText).join()")


def test_keys(browser: Chromium, urls: dict[str, str]) -> None:
    page = browser.page(urls["mended"])
    steps = [("ArrowDown", 4), ("j", 5), ("k", 4), ("ArrowUp", 3), ("End", 10), ("Home", 1), ("n", 3), ("n", 4), ("p", 3), ("End", 10), ("p", 8)]
    for key, expected in steps:
        page.key(key)
        assert chosen(page) == expected, key
    page.key("1", "h")
    assert page.eval("location.hash") == "#event=8&view=raw&tab=headers"
    assert "authorization" in text(page, "#about")
    assert text(page, "#bytes").startswith("data: {")
    page.key("/", "O", "s", "Enter", "Home")
    assert chosen(page) == 5
    assert text(page, "#count") == "1 of 10"
    page.key("?")
    assert page.eval("document.getElementById('keys').open")
    page.key("?")
    assert not page.eval("document.getElementById('keys').open")
    assert page.said == []


def test_the_focus_reaches_everything(browser: Chromium, urls: dict[str, str]) -> None:
    page = browser.page(urls["mended"], width=390)
    reached = []
    for _ in range(13):
        page.key("Tab")
        reached.append(page.eval("document.activeElement.id"))
    for wanted in ("theme", "help", "find", "only", "list", "tab-diff", "copy", "bytes", "tab-rule", "about"):
        assert wanted in reached
    page.eval("document.getElementById('tab-rule').focus()")
    page.key("ArrowRight", "ArrowRight")
    assert page.eval("document.activeElement.id") == "tab-request"
    assert page.eval("document.getElementById('tab-request').getAttribute('aria-selected')") == "true"


def test_the_mouse(browser: Chromium, urls: dict[str, str]) -> None:
    page = browser.page(urls["mended"])
    page.click("#event-8")
    assert chosen(page) == 8
    page.click("#tab-mended")
    assert '"finish_reason": "tool_calls"' in text(page, "#bytes") or '"finish_reason":"tool_calls"' in text(page, "#bytes")
    page.click("#tab-rule")
    page.click(".rules li .link")
    assert chosen(page) == 5
    page.click("#time")  # into the middle of the time
    assert chosen(page) in (5, 6)


def test_deep_links(browser: Chromium, urls: dict[str, str]) -> None:
    page = browser.page(urls["mended"] + "#event=8&view=mended&tab=usage&only=rule:kimi_k2&find=city")
    assert text(page, "#which").startswith("event 8 of 10")
    assert "input tokens" in text(page, "#about")
    assert text(page, "#count") == "1 of 10"
    assert page.eval("[document.getElementById('find').value, document.getElementById('only').value]") == ["city", "rule:kimi_k2"]
    page.eval("location.hash = '#event=2&view=raw&tab=rule'")
    page.drawn()
    assert chosen(page) == 2
    for odd in ("#event=999", "#event=-1", "#event=x&view=constructor&tab=__proto__", "#only=rule:<b>", "#%E0%A4%A"):
        page = browser.page(urls["mended"] + odd)
        assert page.said == []
        assert chosen(page) == 3


def test_dark_and_light(browser: Chromium, urls: dict[str, str]) -> None:
    page = browser.page(urls["mended"], dark=True)
    colors = [page.eval("getComputedStyle(document.body).backgroundColor")]
    for _ in range(2):
        page.key("t")
        colors.append(page.eval("getComputedStyle(document.body).backgroundColor"))
    assert colors == ["rgb(20, 23, 28)", "rgb(255, 255, 255)", "rgb(20, 23, 28)"]


def test_a_hostile_model_is_read_as_text(browser: Chromium, urls: dict[str, str]) -> None:
    page = browser.page(urls["evil"] + "#tab=conversation")
    page.eval("document.querySelectorAll('#about details').forEach((one) => one.open = true)")
    page.drawn()
    for selector in ("#facts", "#notices", "#about"):
        assert EVIL.split(" {{", maxsplit=1)[0] in page.eval(f"document.querySelector('{selector}').textContent")
    assert page.eval("document.querySelectorAll('script').length") == 2
    assert page.eval("document.querySelectorAll('img, svg, iframe, object').length") == 0
    page.eval("document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.evil = 4'}))")
    assert page.eval("window.evil") is None  # the policy keeps a script out that is not ours, even if it got in
    assert len(page.said) == 1


def test_many_events(browser: Chromium, urls: dict[str, str]) -> None:
    """20,000 are there at once, since only those in view are drawn."""
    page = browser.page(urls["large"])
    total = page.eval("data.events.length")
    assert total > 20_000
    assert page.eval("document.querySelectorAll('.row').length") < 60
    page.key("End")
    assert chosen(page) == total
    page.key("Home")
    assert chosen(page) == 1
    page.eval("list.scrollTop = 10000 * ROW")
    page.drawn()
    assert page.eval("[...document.querySelectorAll('.row')].some((row) => row.dataset.n === '10005')")
    page.key("/", *"word19999")
    assert text(page, "#count") == "1 of 20,009"
    assert page.said == []


def test_another_api(browser: Chromium, urls: dict[str, str]) -> None:
    page = browser.page(urls["translated"] + "#event=1")
    sides = page.eval("[...document.querySelectorAll('#bytes .sides > div')].map((one) => one.innerText)")
    assert sides[0].startswith("Raw, chat")
    assert sides[1].startswith("Mended, messages")
    assert "message_start" in sides[1]


def test_no_event(browser: Chromium, urls: dict[str, str]) -> None:
    page = browser.page(urls["nothing"])
    page.key("j", "n", "End", "1", "c")
    assert "Nothing came from the upstream" in text(page, "#bytes")
    assert "upstream error: connection refused" in text(page, "#notices")
    assert page.said == []
