"""A real Chromium, spoken to over its own pipe (DevTools protocol): no driver, no port, no package.

    with Chromium() as browser:
        page = browser.page("file:///…/page.html", width=390, dark=True)
        page.key("j"); page.eval("location.hash"); page.screenshot(path)

Rule of this file: it waits for what the browser says, never for a time to pass; `page.said` has all that was logged, thrown or
asked of a network.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
FLAGS = (
    "--headless",
    "--no-sandbox",  # root has none
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
KEYS = {"ArrowDown": 40, "ArrowUp": 38, "ArrowRight": 39, "ArrowLeft": 37, "Home": 36, "End": 35, "Escape": 27, "Enter": 13, "Tab": 9}


def executable() -> str | None:
    """Where a Chromium is, if there is one; CHROMIUM names another."""
    named = os.environ.get("CHROMIUM")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, (*NAMES, MAC))), None)


class Chromium:
    """The browser, with a profile of its own that goes with it."""

    def __enter__(self) -> Self:
        found = executable()
        assert found, "there is no Chromium; scripts/test-browser says how to get one"
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours_in, self._out = os.pipe()
        self._in, ours_out = os.pipe()

        def as_3_and_4() -> None:
            first, second = os.dup(ours_in), os.dup(ours_out)  # what they are now may be 3 or 4
            os.dup2(first, 3)
            os.dup2(second, 4)

        self._process = subprocess.Popen(
            [found, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=as_3_and_4,  # noqa: PLW1509  one thread
        )
        os.close(ours_in)
        os.close(ours_out)
        self._rest = b""
        self._number = 0
        self._events: list[dict[str, Any]] = []
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._out)  # it ends with its pipe
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        self._profile.cleanup()

    def call(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        """One command and its result; events that come before it are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            self._events.append(answer)

    def events(self, session: str) -> list[dict[str, Any]]:
        """What happened in a page since it was asked."""
        mine = [event for event in self._events if event.get("sessionId") == session]
        self._events = [event for event in self._events if event.get("sessionId") != session]
        return mine

    def page(self, url: str, *, width: int = 1280, height: int = 800, dark: bool = False) -> "Page":
        """A new page, once it is loaded and drawn."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        page.open(url)
        return page

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            data = os.read(self._in, 1 << 20)
            assert data, "Chromium is gone"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message


class Page:
    """One page."""

    def __init__(self, browser: Chromium, session: str) -> None:
        self._browser, self._session = browser, session
        self._seen: list[dict[str, Any]] = []

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    def open(self, url: str) -> None:
        """Goes there, and waits until it is loaded and drawn."""
        self.call("Page.navigate", url=url)
        self.eval("new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', () => done()))")
        self.drawn()

    def drawn(self) -> None:
        """Waits for two frames: what was asked for is on the screen."""
        self.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")

    def eval(self, code: str) -> Any:
        """The value of an expression; what it throws is an AssertionError."""
        told = self.call("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def key(self, *keys: str) -> None:
        """Presses keys, one after the other."""
        for key in keys:
            what: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": KEYS.get(key) or ord(key.upper())}
            text = {} if key in KEYS else {"text": key}
            self.call("Input.dispatchKeyEvent", type="keyDown", **what, **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", **what)
        self.drawn()

    def click(self, selector: str) -> None:
        """Clicks into the middle of an element, as a mouse does."""
        self.eval(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'nearest'}})")
        box = self.eval(f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])(document.querySelector({json.dumps(selector)}).getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)
        self.drawn()

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]))

    @property
    def said(self) -> list[str]:
        """All complaints: exceptions, the log, the console, and every request but that for the page itself."""
        self._seen += self._browser.events(self._session)
        told = []
        for event in self._seen:
            params = event.get("params", {})
            match event["method"]:
                case "Runtime.exceptionThrown":
                    told.append(str(params["exceptionDetails"]))
                case "Log.entryAdded":
                    told.append(params["entry"]["text"])
                case "Runtime.consoleAPICalled":
                    told.append(str(params["args"]))
                case "Network.requestWillBeSent" if params.get("type") != "Document":
                    told.append(f"asked for {params['request']['url'][:200]}")
        return told


if __name__ == "__main__":
    sys.exit(None if executable() else 1)
