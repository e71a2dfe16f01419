"""The pytest plugin, in a pytest of its own, as a user's project has it: by the package's entry point."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.paths import FLOWS

pytest_plugins = ["pytester"]

CASE = FLOWS / "kimi" / "bare-counter"
REQUEST = json.loads((CASE / "request.json").read_bytes())
TEST = f"""
import json
import urllib.error
import urllib.request

REQUEST = {REQUEST!r}

def post(provider, path="/v1/chat/completions", **more):
    request = urllib.request.Request(provider.url + path, json.dumps(REQUEST | more).encode(), method="POST")
    return urllib.request.build_opener(urllib.request.ProxyHandler({{}})).open(request, timeout=20).read()

"""
UNUSED = ("cacheprovider", "hypothesispytest", "anyio")
"""Plugins of pytest: without bytecode, each process reads all of Hypothesis anew to be able to tell of its assertions."""
type Run = Callable[..., pytest.RunResult]


@pytest.fixture
def recordings(pytester: pytest.Pytester) -> Path:
    """Two in a folder of a project."""
    shutil.copytree(CASE, pytester.path / "recordings" / "one")
    shutil.copytree(FLOWS / "kimi" / "arguments-in-a-string", pytester.path / "recordings" / "two")
    return pytester.path / "recordings"


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, recordings: Path) -> Run:
    """A pytest in the project, in a process of its own."""
    assert recordings.is_dir()
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")

    def run(test: str = "", *words: str) -> pytest.RunResult:
        if test:
            pytester.makepyfile(TEST + test)
        return pytester.runpytest_subprocess(*(f"-pno:{name}" for name in UNUSED), *words)

    return run


def before_and_after(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_recordings_are_tests(run: Run, pytester: pytest.Pytester) -> None:
    files = before_and_after(pytester.path / "recordings")
    result = run("", "--toolmend-flows", "recordings", "-v")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*one/meta.json::replay PASSED*", "*two/meta.json::replay PASSED*"])
    result.stdout.fnmatch_lines(["*PytestConfigWarning: --toolmend-flows before a blank *; write --toolmend-flows=DIR"])
    assert before_and_after(pytester.path / "recordings") == files


def test_beside_the_tests_of_the_project(run: Run) -> None:
    run("def test_mine(): pass", "--toolmend-flows", "recordings").assert_outcomes(passed=3)
    run("def test_mine(): pass").assert_outcomes(passed=1)


def test_one_by_its_id(run: Run) -> None:
    run("", "--toolmend-flows", "recordings", "recordings/two/meta.json::replay").assert_outcomes(passed=1)


def test_on_all_cores(run: Run, recordings: Path) -> None:
    booby_trap(recordings)
    run("", "--toolmend-flows=recordings", "-n", "2").assert_outcomes(passed=2, warnings=0)
    assert [*recordings.rglob("*.run")] == []


def test_a_failure_shows_the_events_and_what_to_do(run: Run, pytester: pytest.Pytester) -> None:
    client = pytester.path / "recordings" / "one" / "client.sse"
    client.write_bytes(client.read_bytes().replace(b"Beijing", b"Nanjing"))
    result = run("", "--toolmend-flows", "recordings")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*recordings/one: the client gets other bytes*", "*event alike", "- *Nanjing*", "+ *Beijing*"]
    )
    result.stdout.fnmatch_lines(["try: toolmend verify *recordings/one --update*"])
    assert "Traceback" not in result.stdout.str()


def test_a_partial_recording_is_skipped(run: Run, pytester: pytest.Pytester) -> None:
    meta = pytester.path / "recordings" / "one" / "meta.json"
    meta.write_text(json.dumps(json.loads(meta.read_text()) | {"state": "partial"}))
    result = run("", "--toolmend-flows", "recordings", "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*it is partial*"])


def test_a_broken_one_fails(run: Run, pytester: pytest.Pytester) -> None:
    (pytester.path / "recordings" / "one" / "request.json").write_text("[")
    result = run("", "--toolmend-flows", "recordings")
    result.assert_outcomes(passed=1, failed=1)
    assert "Traceback" not in result.stdout.str()


@pytest.mark.parametrize(("folder", "wrong"), [("nowhere", "no such folder: nowhere"), ("empty", "no recordings in empty")])
def test_a_folder_without_recordings_stops_it(run: Run, pytester: pytest.Pytester, folder: str, wrong: str) -> None:
    pytester.mkdir("empty")
    result = run("", "--toolmend-flows", folder)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--toolmend-flows: {wrong}*"])


def test_a_provider_for_the_code_under_test(run: Run, pytester: pytest.Pytester) -> None:
    files = before_and_after(pytester.path / "recordings")
    result = run("""
from pathlib import Path

def test_what_the_agent_got(toolmend_upstream):
    provider = toolmend_upstream("recordings/one")
    assert post(provider) == Path("recordings/one/client.sse").read_bytes()
    assert [request.path for request in provider.requests] == ["/v1/chat/completions"]

def test_what_the_provider_sent(toolmend_upstream):
    provider = toolmend_upstream(Path("recordings").absolute() / "one", side="upstream")
    assert post(provider) == Path("recordings/one/upstream.sse").read_bytes()

def test_two_at_once_in_order(toolmend_upstream):
    first, second = toolmend_upstream("recordings", order=True), toolmend_upstream("recordings/two", order=True)
    assert {post(first, model="any"), post(first)} == {path.read_bytes() for path in Path("recordings").rglob("client.sse")}
    assert post(second, messages=[]) == Path("recordings/two/client.sse").read_bytes()
""")
    result.assert_outcomes(passed=3)
    assert before_and_after(pytester.path / "recordings") == files


def test_its_folder_by_the_option(run: Run) -> None:
    run("def test(toolmend_upstream): assert post(toolmend_upstream())", "--toolmend-flows", "recordings").assert_outcomes(passed=3)


def test_a_request_that_no_recording_answers_fails_the_test(run: Run) -> None:
    result = run("""
def test_quiet(toolmend_upstream):
    try:
        post(toolmend_upstream("recordings/one"), model="another")
    except urllib.error.HTTPError as error:
        assert error.code == 400
""")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["toolmend_upstream: no recording answered", "POST /v1/chat/completions: *nearest is one*"])


EVIL = "import pathlib; pathlib.Path(__file__).with_suffix('.run').touch(); print('evil', __file__)\n"
TESTED = "def test_evil(): pass\n"
NAMES = ("conftest.py", "test_evil.py", "__init__.py", "evil_test.py", "sitecustomize.py")


def booby_trap(recordings: Path) -> None:
    """Files that pytest imports, wherever it may look: in the folder, in a recording, beside recordings, in a test* folder."""
    (recordings / "tests").mkdir()
    for folder in (recordings, recordings / "one", recordings / "tests"):
        for name in NAMES:
            (folder / name).write_text(EVIL + TESTED)
        (folder / "test_evil.txt").write_text(">>> 1\n2\n")


def outside(pytester: pytest.Pytester) -> Path:
    """A folder beside the project, with a test, to which links in the recordings lead."""
    folder = pytester.mkdir("beside")
    (folder / "test_linked.py").write_text(EVIL + TESTED)
    (folder / "conftest.py").write_text(EVIL)
    (pytester.path / "recordings" / "link").symlink_to(folder)
    (pytester.path / "recordings" / "test_link.py").symlink_to(folder / "test_linked.py")
    return folder


def quietly(pytester: pytest.Pytester, *words: str) -> pytest.RunResult:
    """A pytest in this process, which must run nothing that was laid out for it."""
    more = ("-s", "--ignore=beside", "-p", "no:cacheprovider", "-p", "no:timeout", "-p", "no:randomly")
    result = pytester.runpytest_inprocess(*more, *words)
    assert [*pytester.path.rglob("*.run")] == []
    return result


PLACES = [
    # started in, words, passed
    (".", ("--toolmend-flows=recordings",), 3),
    (".", ("--toolmend-flows=recordings", ".", "--doctest-modules"), 3),
    (".", ("--toolmend-flows=recordings", "recordings"), 2),
    (".", ("--toolmend-flows=recordings", "recordings/one/meta.json::replay"), 1),
    (".", ("--toolmend-flows=way", "--ignore=recordings"), 3),
    ("recordings", ("--toolmend-flows", "."), 2),
    ("recordings/one", ("--toolmend-flows=..",), 1),
]


@pytest.mark.parametrize(("start", "words", "passed"), PLACES)
def test_a_folder_of_recordings_is_data(
    recordings: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, start: str, words: tuple[str, ...], passed: int
) -> None:
    booby_trap(recordings)
    outside(pytester)
    (pytester.path / "way").symlink_to("recordings")
    (pytester.path / "tests").mkdir()
    (pytester.path / "tests" / "test_mine.py").write_text("def test_mine(): pass")
    monkeypatch.chdir(pytester.path / start)
    quietly(pytester, *words).assert_outcomes(passed=passed)


@pytest.mark.parametrize("word", ["recordings/test_evil.py", "recordings/test_link.py", "recordings/link/test_linked.py", "recordings/link"])
def test_a_test_in_it_is_none(recordings: Path, pytester: pytest.Pytester, word: str) -> None:
    booby_trap(recordings)
    outside(pytester)
    assert quietly(pytester, "--toolmend-flows=recordings", word).ret == pytest.ExitCode.USAGE_ERROR


def test_a_folder_of_tests_by_its_name(recordings: Path, pytester: pytest.Pytester) -> None:
    """Pytest imports the conftest.py of each `test*` in the folder that it is started in."""
    recordings.rename(pytester.path / "test_flows")
    booby_trap(pytester.path / "test_flows")
    quietly(pytester, "--toolmend-flows=test_flows").assert_outcomes(passed=2)


SETTINGS = {
    "pytest.ini": "[pytest]\naddopts = --collect-only\n",
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--collect-only'\n",
    "tox.ini": "[pytest]\naddopts = --collect-only\n",
    "setup.py": "",
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_in_it_set_nothing(recordings: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for folder in (recordings, recordings / "one"):
        (folder / name).write_text(SETTINGS[name])
    quietly(pytester, "--toolmend-flows=recordings").assert_outcomes(passed=2)
    words = ("--toolmend-flows", "recordings") if name == "setup.py" else ("--toolmend-flows=.",)
    monkeypatch.chdir(pytester.path if name == "setup.py" else recordings)
    result = quietly(pytester, *words)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*a folder of recordings*"])


def test_nothing_to_play(run: Run) -> None:
    result = run("def test(toolmend_upstream): toolmend_upstream()")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*no playable recordings in no folder: name one, or give --toolmend-flows*"])


def test_who_does_not_use_it_pays_for_nothing() -> None:
    """It comes with every pytest that shares an environment with toolmend."""
    code = "import pytest, sys; before = set(sys.modules); import toolmend.recordings.pytest_plugin; print(*set(sys.modules) - before)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert sorted(loaded) == ["toolmend", "toolmend.recordings", "toolmend.recordings.pytest_plugin"]
