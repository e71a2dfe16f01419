"""Recordings that somebody else made, and meant ill: every command that reads one says what is wrong, in words (R14, R20).

Rule of this file: a folder of the right shape, one file of it hostile; no command shows a traceback, calls it a fault of ours, or takes
what a link or a name points at.
"""

import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.recordings import META, keep
from tests.support.streams import WEATHER, chunk, event, stream
from toolmend.cli import Exit, main
from toolmend.recordings.write.pruning import stored

BODY = stream(["Hello."])
DEEP = b"[" * 100_000 + b"]" * 100_000
NUMBER = b"9" * 1_000_000


def meta(**more: object) -> bytes:
    return json.dumps(META | more).encode()


HOSTILE: dict[str, dict[str, bytes]] = {
    # the files that are written over
    "a deep request": {"request.json": b'{"a":' + DEEP + b"}"},
    "an open request": {"request.json": b'{"a":' * 100_000},
    "a request that is a list": {"request.json": b"[1]"},
    "a request that is a text": {"request.json": b'"x"'},
    "a number in the request": {"request.json": b'{"model":' + NUMBER + b"}"},
    "members in the request": {"request.json": b"{" + b",".join(b'"%d":0' % n for n in range(5_000)) + b"}"},
    "a request of odd members": {"request.json": b'{"model":[{}],"messages":{"a":[1,null]},"tools":"x","stream":"\\ud800"}'},
    "deep meta": {"meta.json": DEEP},
    "meta that is a list": {"meta.json": b"[]"},
    "meta of nothing": {"meta.json": b"{}"},
    "meta of other kinds": {"meta.json": meta(api=[1], model={"a": 1}, host=7, path=None, status="x", rules=3, ids="x", settings=[])},
    "an API that is none": {"meta.json": meta(api="../../etc/passwd", client_api="\x00")},
    "an API of the client's that is none": {"meta.json": meta(client_api="\x1b[2J")},
    "a route that is none": {"meta.json": meta(route="\x1b]0;x\x07", client_api="messages")},
    "a path that is no URL's": {"meta.json": meta(path="/v1]\x1b]0;x\x07[/chat")},
    "settings that are none": {"meta.json": meta(settings={"dialects": "\x1b]0;x\x07", "mode": ["x"], "upstream": 7, "template": {}})},
    "settings of none": {"meta.json": meta(settings={"dialects": "nobody's"})},
    "a path of escapes": {"meta.json": meta(path="/\x1b]0;x\x07\n\r\u202e", model="\x1b[2J\nmodel", host="../../..\n")},
    "a deep index": {"upstream.idx": DEEP},
    "an index of other kinds": {"upstream.idx": b'{"off":"a","len":[],"t_ms":null}\n{}\n'},
    "an index below zero": {"upstream.idx": b'{"off":-5,"len":-1,"t_ms":-1}\n{"off":0,"len":99999999999,"t_ms":1e308}\n'},
    "an index of overlaps": {"upstream.idx": b'{"off":0,"len":9999,"t_ms":0}\n' * 20_000},
    "a deep event": {"upstream.sse": event('{"a":' + DEEP[:20_000].decode() + DEEP[-20_000:].decode() + "}") + BODY},
    "a number in an event": {"upstream.sse": b'data: {"choices":[{"index":0,"delta":{"content":"x"},"n":' + NUMBER[:20_000] + b"}]}\n\n" + BODY},
    "a long event": {"upstream.sse": event(chunk({"content": "ab \n" * 20_000})) + BODY},
    "a time that is no number": {"upstream.idx": b'{"off":0,"len":20,"t_ms":NaN}\n'},
    "a time without end": {"upstream.idx": b'{"off":0,"len":20,"t_ms":1e999}\n{"off":20,"len":900,"t_ms":-1e999}\n'},
    "a time of many digits": {"upstream.idx": b'{"off":0,"len":20,"t_ms":1%b}\n' % (b"0" * 400)},
    "a length that is none": {"upstream.idx": b'{"off":true,"len":20.5,"t_ms":true}\n'},
    "a wait that is no number": {"meta.json": meta(wait_ms=float("nan"), error=float("inf"))},
    "an error that is none": {"meta.json": meta(error=["x"], state="upstream_error")},
    "a host of half a character": {"meta.json": meta(host="\ud800")},
    "a method of half a character": {"meta.json": meta(method="\ud800", error="\ud800")},
    "a path that is a port": {"meta.json": meta(path="9:59/x")},
    "a path that is part of the host": {"meta.json": meta(path="9" * 5000)},
    "no status, no fault": {"meta.json": meta(status=None, fault=None, route="x")},
    "no UTF-8": {"upstream.sse": b"data: \xff\xfe\x00\n\n" + BODY, "request.json": b"\xff\xfe"},
    "a deep message": {"message.json": DEEP},
    "a message that is a list": {"message.json": b"[1]"},
}
COMMANDS: dict[str, Callable[[Path], list[str]]] = {
    "flows": lambda _: ["flows"],
    "flows --json": lambda _: ["flows", "--json"],
    "show": lambda _: ["show", "one"],
    "show --json": lambda _: ["show", "one", "--json"],
    "show --html": lambda out: ["show", "one", "--html", str(out / "page.html")],
    "explain": lambda _: ["explain", "one"],
    "export": lambda out: ["export", "one", "-o", str(out / "x.flows")],
    "export --to har": lambda out: ["export", "one", "-o", str(out / "x.har")],
    "prune": lambda _: ["prune", "--keep", "1d", "-n"],
    "promote": lambda out: ["promote", "one", "a/b", "--into", str(out / "made")],
    "pin": lambda _: ["pin", "one"],
    "verify": lambda _: ["verify", "one"],
}
CONTROL = re.compile("[^\n\t -~\N{NO-BREAK SPACE}-\N{LATIN SMALL LETTER Y WITH DIAERESIS}\u2010-\u2027\u2030-\uffff]")
FILES = ("meta.json", "request.json", "message.json", "upstream.sse", "upstream.idx", "client.sse", "upstream_request.json", "x.json")
ODD: dict[str, Callable[[Path], object]] = {
    # what stands in the place of a file
    "a pipe": os.mkfifo,
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a folder": Path.mkdir,
    "a file of holes": lambda path: (path.touch(), os.truncate(path, 1 << 42)),
}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("TOOLMEND_FLOWS", "TOOLMEND_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def in_time() -> Iterator[None]:
    """What waits for ever fails."""

    def late(*_: object) -> None:
        raise TimeoutError("it does not end")

    before = signal.signal(signal.SIGALRM, late)
    left = signal.setitimer(signal.ITIMER_REAL, 20, 5)  # pytest-timeout's own
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    signal.setitimer(signal.ITIMER_REAL, *left)


@pytest.mark.parametrize("name", HOSTILE)
def test_every_command_says_what_is_wrong(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "flows"
    keep(root / "one", [BODY], WEATHER)
    for file, data in HOSTILE[name].items():
        (root / "one" / file).write_bytes(data)
    check(root, tmp_path / "out", capfd)


def test_settings_that_came_with_a_repository(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What they say of models steers no terminal either."""
    evil = json.dumps("\x1b]0;x\x07\x9b31m\r\u202e\ntry: rm -r ~")
    rows = f'[[provider]]\nname = {evil}\nmodels = ["m", {evil}]\nhosts = ["a.example"]\n'
    routes = f'[[route]]\nfrom = "https://a.example/v1/messages"\nto = "https://b.example/v1/chat/completions"\nmodel = {evil}\n'
    (tmp_path / "toolmend.toml").write_text(rows)
    (tmp_path / "routes.toml").write_text(routes)
    lines = ["providers", "providers m", "config show", "routes routes.toml", "routes routes.toml https://a.example/v1/messages"]
    for line in lines:
        main(line.split())
        told = "".join(capfd.readouterr())
        assert not CONTROL.search(told), (line, told)
        assert not any(row.startswith("try: rm") for row in told.splitlines()), (line, told)


@pytest.mark.parametrize("name", ["\x1b]0;x\x07\x9b31m\r\u202e", "one\ntry: rm -r ~"], ids=["escapes", "lines"])
def test_a_folder_of_an_ill_name(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It neither steers the terminal, nor says what stands in a line of ours."""
    root = tmp_path / "flows"
    for more in ("1", "2", "3"):
        keep(root / (name + more), [BODY], WEATHER)
    (root / f"{name}3" / "meta.json").write_bytes(b"{")
    for word in (name, f"{name}1", f"{name}3"):
        for command, words in COMMANDS.items():
            out = tmp_path / "out"
            out.mkdir()
            main([*(word if one == "one" else one for one in words(out)), "--flows", str(root)])
            told = "".join(capfd.readouterr())
            assert not CONTROL.search(told), (command, told)
            assert not any(line.startswith("try: rm") for line in told.splitlines()), (command, told)
            shutil.rmtree(out)


@pytest.mark.usefixtures("in_time")
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_file_is_not_waited_for(odd: str, file: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "flows"
    keep(root / "one", [BODY], WEATHER)
    (root / "one" / file).unlink(missing_ok=True)
    ODD[odd](root / "one" / file)
    check(root, tmp_path / "out", capfd)


@pytest.mark.parametrize("file", [*FILES, "pinned"])
def test_what_a_link_leads_to_is_in_nothing_that_is_made(file: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What is made may be given away: a page, an export, a fixture. A file that is not there yet is not made, either."""
    root, out = tmp_path / "flows", tmp_path / "out"
    theirs, nowhere = tmp_path / "theirs", tmp_path / "nowhere"
    for text in ('{"model":"CANARY","messages":[{"role":"user","content":"CANARY"}]}', "CANARY\n", 'data: {"a":"CANARY"}\n\n'):
        theirs.write_text(text)
        for leads in (theirs, nowhere):
            keep(root / "one", [BODY], WEATHER)
            (root / "one" / file).unlink(missing_ok=True)
            (root / "one" / file).symlink_to(leads)
            for command, words in COMMANDS.items():
                out.mkdir()
                main([*words(out), "--flows", str(root)])
                made = [path.read_text(errors="replace") for path in out.rglob("*") if path.is_file()]
                assert not any("CANARY" in text for text in (*made, *capfd.readouterr())), command
                shutil.rmtree(out)
            shutil.rmtree(root)
    assert not nowhere.exists()


@pytest.mark.usefixtures("in_time")
def test_settings_of_a_recording_name_no_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It would be waited for, or be quoted in what is wrong with it."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "theirs.toml").write_text("CANARY = 1\n")
    for name in ("pipe", "theirs.toml"):
        root = tmp_path / f"about {name}"
        keep(root / "one", [BODY], WEATHER, settings={"dialects": "auto", "config": str(tmp_path / name)})
        for words in (["verify", "one"], ["show", "one"], ["explain", "one"]):
            assert main([*words, "--flows", str(root)]) == 0, words
            assert "CANARY" not in "".join(capfd.readouterr())


@pytest.mark.usefixtures("in_time")
def test_a_pipe_does_not_hold_up_the_recorder(tmp_path: Path) -> None:
    """Whose thread looks whether a recording that another process may have made is open."""
    folder = tmp_path / "2026-11-20" / "120000-openrouter-ab12"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "meta.json")
    assert [one.held for one in stored(tmp_path)] == [True]


def no_number(name: str) -> None:
    raise ValueError(f"a browser reads no {name}")


def check(root: Path, out: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out.mkdir()
    for command, words in COMMANDS.items():
        code = main([*words(out), "--flows", str(root)])
        said, told = capfd.readouterr()
        assert code != Exit.USAGE or "No such" not in told, (command, told[:300])
        assert "Traceback" not in told, (command, told[:2000])
        assert "--debug" not in told, (command, told[:300])  # what we say where we did not see it coming
        assert not CONTROL.search((said if "html" not in command else "") + told), command
        documents = [said] * ("--json" in command) + [path.read_text() for path in out.glob("*.har")]
        documents += [path.read_text().partition('id="data">')[2].partition("</script>")[0] for path in out.glob("*.html")]
        for document in filter(None, documents):
            json.loads(document, parse_constant=no_number)
        shutil.rmtree(out)
        out.mkdir()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_a_shell_completes_is_no_command(shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Bash puts it into the line as it is; and what tells of it is a line of its own, or one more completion."""
    root = tmp_path / "flows"
    keep(root / "2026-fine.one_1", [BODY], WEATHER, model="m\nplain\n$(id)\n_\x1b]0;x\x07")
    for name in ("2026$(id)", "2026;id", "2026 id", "2026`id`", "2026\nplain,$(id)", "2026\x1b]0;x\x07", "2026*", "~root", "-rf"):
        keep(root / name, [BODY], WEATHER)
    given = {"_TOOLMEND_COMPLETE": f"{shell}_complete", "TOOLMEND_FLOWS": str(root), "COMP_WORDS": "toolmend show 2026", "COMP_CWORD": "2026" if shell == "fish" else "2"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.argv", ["toolmend"])
    main()
    told = capfd.readouterr().out
    assert "2026-fine.one_1" in told
    assert not CONTROL.search(told)
    offered = {"bash": r"plain,(.*)", "fish": r"plain,(.*?)\t", "zsh": r"plain\n(.*)\n.*\n"}[shell]
    assert re.findall(offered, told) == ["2026-fine.one_1"]
    assert not re.search(offered, re.sub(offered, "", told))
