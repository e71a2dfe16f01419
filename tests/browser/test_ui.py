"""`toolmend ui` in a real Chromium: every page, hostile recordings, an answer while it is written. Run by scripts/test-browser."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import Chromium, Page
from tests.support.agent_requests import CLAUDE_CODE, CLAUDE_CODE_LATER
from tests.support.recordings import in_events, keep
from tests.support.streams import WEATHER, pieces, stream
from tests.support.upstream_answers import Asked, Text, Thought, speak
from toolmend.cli.launcher.page import start

KIMI = "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
CALL = [KIMI[:12], KIMI[12:40], KIMI[40:] + '{"city": "Os', 'lo"}', "<|tool_call_end|><|tool_calls_section_end|>"]
EVIL = "</script><script>window.evil=1</script><img src=x onerror=window.evil=2> [a](javascript:window.evil=3) <svg/onload=window.evil=4> \u202e"
WORD = "x" * 400
NAMES = ("1-mended", "2-evil", "3-answer", "4-unanswered")
PATHS = ["/", "/recordings", "/suspects", "/prompts", "/search?q=Read", "/s/s1", "/s/none", "/r/none", "/s/s1?lane=*"]
PATHS += [f"/r/{name}" for name in NAMES] + [f"/r/2-evil?tab={tab}" for tab in ("answer", "events", "request", "diff", "context", "headers")]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ui") / "flows"
    day = root / "2026-11-28"
    evil: dict[str, Any] = {"model": EVIL, "host": WORD, "path": "/" + WORD, "request_headers": [["user-agent", WORD + EVIL]], "notes": [EVIL, WORD]}
    ask = {**WEATHER, "messages": [{"role": "user", "content": EVIL + WORD}], EVIL: EVIL}
    keep(day / NAMES[0], in_events(stream(["Let me.", *CALL], finish="stop")))
    keep(day / NAMES[1], in_events(stream([*pieces(EVIL, 3), EVIL, WORD, *CALL])), ask, **evil)
    session = {"session": {"id": "s1", "from": "x"}, "api": "messages", "recorded_at": "2026-11-28T10:00:00+00:00"}
    keep(day / "0-first", in_events(speak("messages", [Thought("Hm."), Asked("toolu_01", "Read", '{"file_path": "a.py"}')], "tool_calls")), CLAUDE_CODE, **session)
    keep(day / NAMES[2], in_events(speak("messages", [Text(f"It has **one** line.\n\n{EVIL}\n\n```py\nx = 1\n```\n\n{WORD}")], "stop")), CLAUDE_CODE_LATER, **session | {"recorded_at": "2026-11-28T10:00:09+00:00"})
    keep(day / NAMES[3], [], client=b"", state="unanswered", status=0, waited_ms=31000.0, error="waited 31.0 s, the client gave up")
    return root


@pytest.fixture(scope="module")
def url(root: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return start(str(root), os.getpid(), os.environ | {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}, opens=False)


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium() as browser:
        yield browser


def opened(browser: Chromium, url: str, path: str, **how: Any) -> Page:
    base, _, token = url.partition("/#")
    page = browser.page(f"{base}{path}#{token}", **how)
    until(page, "!document.querySelector('.busy') && document.querySelector('main, .empty')")
    return page


def until(page: Page, true: str) -> None:
    for _ in range(100):
        if page.eval(f"!!({true})"):
            return
        time.sleep(0.05)
    pytest.fail(f"{true}: {page.eval('document.body.innerText.slice(0, 500)')}")


def complaints(page: Page, url: str) -> list[str]:
    own = url.partition("/#")[0]
    return [said for said in page.said if not said.startswith((f"asked for {own}/", f"asked for {own.replace('http', 'ws')}/"))]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_every_page(browser: Chromium, url: str, width: int, dark: bool) -> None:
    for path in PATHS:
        page = opened(browser, url, path, width=width, dark=dark)
        said = [one for one in complaints(page, url) if "404" not in one or "none" not in path]
        assert said == [], path
        assert not page.eval("document.documentElement.scrollWidth > innerWidth"), path
        assert page.eval("window.evil") is None, path
        assert page.eval("location.hash") == "", "the token does not stay in the address"
        assert not page.eval("document.querySelector('main img, main script, main svg[onload]')"), path


def test_by_keyboard(browser: Chromium, url: str) -> None:
    page = opened(browser, url, "/")
    page.key("j", "k", "Enter")
    until(page, "location.pathname.startsWith('/s/')")
    page.key("Escape")
    until(page, "location.pathname === '/'")
    page.key("2")
    until(page, "location.pathname === '/recordings' && document.querySelectorAll('.row').length === 5")
    page.key("?")
    until(page, "document.querySelector('dialog[open]')")


def test_who_has_no_token_sees_nothing(browser: Chromium) -> None:
    other = start(os.devnull, os.getpid(), os.environ, opens=False).partition("/#")[0]
    page = browser.page(f"{other}/")
    until(page, "document.body.innerText.includes('wants its token')")


def test_a_session_shows_calls_with_their_results(browser: Chromium, url: str) -> None:
    page = opened(browser, url, "/s/s1")
    until(page, "document.querySelector('.part.call .came')")
    assert "x = 1" in str(page.eval("document.querySelector('.part.call .came').innerText"))
    assert page.eval("document.querySelector('.prose strong').innerText") == "one"
    assert page.eval("document.querySelectorAll('.turn').length") == 2


def test_a_session_is_shared(browser: Chromium, url: str) -> None:
    page = opened(browser, url, "/s/s1")
    page.click(".share")
    until(page, "document.querySelector('.sharing').innerText.includes('Nothing in it looks like a secret')")
    assert complaints(page, url) == []


def test_an_answer_while_it_is_written(browser: Chromium, url: str, root: Path) -> None:
    """From the bytes on the disk to the page; a request that waits is there, with its clock."""
    page = opened(browser, url, "/")
    day = root / time.strftime("%Y-%m-%d", time.gmtime())
    body = in_events(stream([f"word{n} " for n in range(20)]))
    folder = keep(day / "120000-openrouter-live", [], WEATHER, state="waiting", pid=os.getpid(), recorded_at=time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()))
    for file in folder.glob("*.sse"):
        file.unlink()
    until(page, "document.querySelector('.busy-row .clock')")
    assert "waits for the first byte" in str(page.eval("document.querySelector('.busy-row').innerText"))
    page.key("Enter")
    until(page, "document.querySelector('.growing')")
    for chunk in body[:-2]:
        for name in ("upstream.sse", "client.sse"):
            with (folder / name).open("ab") as file:
                file.write(chunk)
    until(page, "document.querySelector('.streamed')?.innerText.includes('word19')")
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps(meta | {"state": "complete"}))
    until(page, "document.querySelector('.prose') && !document.querySelector('.growing')")
    assert complaints(page, url) == []
