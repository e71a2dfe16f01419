"""store.py, and the commands that read from a store as they read from a folder."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import fsspec
import httpx
import pytest

from tests.support.cli import no_settings, say  # noqa: F401  the fixture works by being here
from tests.support.paths import ADDON
from tests.support.recordings import META, in_events, keep
from tests.support.stores import BOOM, Trying, emptied
from tests.support.streams import stream
from toolmend.cli import main
from toolmend.cli.doctor import disk
from toolmend.cli.doctor.finding import Machine
from toolmend.cli.proxies import absolute, recordings_of
from toolmend.config import store_url as module
from toolmend.config.store_url import StoreUrl
from toolmend.recordings.read.library import MAX_SMALL, Entry, NotFound, entries, find
from toolmend.recordings.read.store import MAX_ERROR, Store, StoreError, why
from toolmend.recordings.write.spool import home

URL = "trying://bucket/team"
LEAK = stream(
    [
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>",
        '{"city": "Beijing"}',
        "<|tool_call_end|><|tool_calls_section_end|>",
    ]
)
NAMES = {
    # name: when, and more of meta.json
    "2026-11-20/183401-openrouter-0f3c9a12-aaaaaa": {"recorded_at": "2026-11-20T18:34:01.000+00:00", "flow_id": "0f3c9a12-5d1e"},
    "2026-11-20/183401-openrouter-0f3c9a12-bbbbbb": {"recorded_at": "2026-11-20T18:34:01.900+00:00", "flow_id": "0f3c9a12-4b7a"},
    "2026-11-19/100000-kimi-11111111-aaaaaa": {"recorded_at": "2026-11-19T10:00:00.000+00:00", "state": "partial"},
    "kimi/case": {"recorded_at": "2026-11-18T10:00:00.000+00:00"},
}


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    emptied()
    yield
    emptied()


@pytest.fixture
def local(tmp_path: Path) -> Path:
    """What is in the store, as a folder."""
    for name, more in NAMES.items():
        keep(tmp_path / "same" / name, in_events(LEAK), **more)
        (tmp_path / "same" / name / "message.json").write_text('{"usage": {"input_tokens": 10, "output_tokens": 3}}')
    return tmp_path / "same"


@pytest.fixture
def store(local: Path, tmp_path: Path) -> Store:
    """With some files beside them that are no recordings."""
    fs = fsspec.filesystem("trying")
    for file in local.rglob("*.*"):
        if file.is_file():
            fs.pipe_file(f"/bucket/team/{file.relative_to(local)}", file.read_bytes())
    fs.pipe_file("/bucket/team/2026-11-21/183401-open-x-y/client.sse", b"a meta.json is still to come")
    fs.pipe_file("/bucket/team-2/2026-11-21/183401-open-x-y/meta.json", b"{}")
    return Store(StoreUrl(URL), tmp_path / "into")


def facts(found: list[Entry]) -> list[dict[str, object]]:
    """What is known of each, but where it lies."""
    return [{name: getattr(one, name) for name in Entry.__slots__ if name not in ("folder", "url")} | {"name": one.name} for one in found]


def test_a_store_is_listed_as_a_folder_is(store: Store, local: Path) -> None:
    found = store.entries()
    assert facts(found) == facts(entries(local))
    assert [one.place for one in found] == [f"{URL}/{one.folder.relative_to(local)}" for one in entries(local)]
    assert (found[0].tokens, found[0].last_ms, found[0].size > 1000) == ((10, 3), entries(local)[0].last_ms, True)
    assert not any(one.folder.exists() for one in found)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("last", "183401-openrouter-0f3c9a12-bbbbbb"),
        ("1000", "100000-kimi-11111111-aaaaaa"),
        ("case", "case"),
        ("0f3c9a12-5d1e", "183401-openrouter-0f3c9a12-aaaaaa"),
        ("183401-openrouter-0f3c9a12-aaaaaa", "183401-openrouter-0f3c9a12-aaaaaa"),
    ],
)
def test_one_is_found_as_in_a_folder(word: str, name: str, store: Store, local: Path) -> None:
    assert (store.find(word).name, find(local, word).name) == (name, name)


@pytest.mark.parametrize("word", ["183401", "nix", "0f3c9a12-9999", ""])
def test_none_is_found_in_the_same_words(word: str, store: Store, local: Path) -> None:
    with pytest.raises(NotFound) as there:
        find(local, word)
    with pytest.raises(NotFound) as here:
        store.find(word)
    assert sorted(re.split(", |: ", str(here.value).replace(URL, str(local)))) == sorted(re.split(", |: ", str(there.value)))


def test_what_is_known_to_be_older_is_not_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    cat = Trying.cat_file
    monkeypatch.setattr(Trying, "cat_file", lambda self, path, **more: (read.append(path), cat(self, path, **more))[1])
    found = store.entries(datetime(2026, 11, 20, 12, tzinfo=UTC))
    assert [one.name[-6:] for one in found] == ["bbbbbb", "aaaaaa", "case"]  # what has another name is looked at
    assert not any("/2026-11-19/" in path for path in read)
    read.clear()
    store.find("last")
    assert not any("/2026-11-19/" in path for path in read)


def test_what_is_fetched_is_what_lies_there(store: Store, local: Path) -> None:
    for one in store.fetch(store.entries()):
        same = local / one.folder.relative_to(store._into)
        assert {file.name: file.read_bytes() for file in one.folder.iterdir()} == {
            file.name: file.read_bytes() for file in same.iterdir()
        }


def test_names_are_looked_at_before_they_are_paths(store: Store, tmp_path: Path) -> None:
    files = fsspec.filesystem("trying").store
    for name in ("../../../evil/meta.json", "a/../../../evil/meta.json", "a\\..\\b/meta.json", "2026-11-20/x/..\\evil", "x/\0/meta.json"):
        files[f"/bucket/team/{name}"] = files["/bucket/team/kimi/case/meta.json"]
    found = list(store.fetch(store.entries()))
    assert len(found) == len(NAMES)
    assert all(one.folder.is_relative_to(tmp_path / "into") for one in found)
    assert not list(tmp_path.rglob("*evil*"))


def test_what_is_too_large_or_torn_says_so(store: Store) -> None:
    fs = fsspec.filesystem("trying")
    fs.pipe_file("/bucket/team/kimi/case/meta.json", b"{" * (MAX_SMALL + 1))
    fs.pipe_file("/bucket/team/kimi/torn/meta.json", b"")
    found = {one.name: one for one in store.entries()}
    assert (found["case"].state, found["torn"].state) == ("unreadable", "unreadable")
    assert f"meta.json has {MAX_SMALL + 1} bytes" in str(found["case"].error)


@pytest.mark.usefixtures("store")
def test_one_that_is_the_place_itself(tmp_path: Path) -> None:
    (one,) = Store(StoreUrl(f"{URL}/kimi/case"), tmp_path / "one").entries()
    assert (one.name, one.place, one.state) == ("case", f"{URL}/kimi/case", "complete")


@pytest.mark.parametrize("call", ["find", "get_file"])
def test_a_store_that_fails_says_why(call: str, store: Store) -> None:
    found = store.entries() if call == "get_file" else []
    Trying.reads = call
    with pytest.raises(StoreError, match=rf"^{URL} cannot be read: RuntimeError: the store says no to \[REDACTED\]$"):
        list(store.fetch(found or store.entries()))


def test_recordings_that_fail_are_listed(store: Store) -> None:
    Trying.reads = "cat_file"
    assert {one.state for one in store.entries()} == {"unreadable"}


def test_why_tells_a_line_and_no_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "abc/def+ghijk")
    assert why(ValueError("it is\n\x1b[2J abc/def+ghijk")) == "ValueError: it is ?[2J [REDACTED]"
    assert why(OSError(2, "No such file")) == "No such file"
    assert why(PermissionError("Access Denied")) == "PermissionError: Access Denied"
    assert len(why(ValueError("x" * 9999))) < MAX_ERROR + 20
    assert why(KeyError()) == "KeyError"


# the commands


def rows(text: str) -> list[str]:
    return [row["name"] for row in json.loads(text)["recordings"]]


@pytest.mark.usefixtures("store")
def test_flows(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    by_option = say(capsys, "flows", "--flows", URL, "--json")
    document = json.loads(by_option)
    assert (document["folder"], document["found"]) == (URL, 4)
    assert document["recordings"][0]["folder"] == f"{URL}/2026-11-20/183401-openrouter-0f3c9a12-bbbbbb"
    assert document["recordings"][0]["flow_id"] == "0f3c9a12-4b7a"
    assert say(capsys, "flows", URL, "--json") == by_option
    monkeypatch.setenv("TOOLMEND_FLOWS", f"{URL}/")
    assert say(capsys, "flows", "--json") == by_option
    assert rows(say(capsys, "flows", "--state", "partial", "--json")) == ["100000-kimi-11111111-aaaaaa"]
    assert say(capsys, "flows").startswith("flow\ttime\t")


def test_flows_of_a_folder_by_its_name(local: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert say(capsys, "flows", str(local), "--json") == say(capsys, "flows", "--flows", str(local), "--json")


@pytest.mark.usefixtures("store")
def test_an_empty_place(capsys: pytest.CaptureFixture[str]) -> None:
    say(capsys, "flows", f"{URL}/nix", err=f"no recording in {URL}/nix\n")


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("line", "has"),
    [
        ("show last --flows {URL} --json", f'"folder": "{URL}/2026-11-20/183401-openrouter-0f3c9a12-bbbbbb"'),
        ("show {URL}/kimi/case --json", f'"folder": "{URL}/kimi/case"'),
        ("explain {URL}/kimi/case", "kimi_k2, at events "),
        ("explain 0f3c9a12-5d1e --flows {URL} --json", '"as_recorded": true'),
        ("export last --flows {URL} --to har", "claude-cli/2.1.329"),
        ("verify {URL}", "4 passed, 0 failed"),
        ("verify {URL}/kimi --json", f'"name": "{URL}/kimi/case"'),
        ("verify last --flows {URL}", "1 passed, 0 failed"),
    ],
)
def test_commands_that_read(line: str, has: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(line.replace("{URL}", URL).split()) == 0
    out, err = capsysbinary.readouterr()
    assert has in out.decode()
    assert err == b""


@pytest.mark.usefixtures("store")
def test_promote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["promote", "last", "kimi/x", "--into", "made", "--flows", URL]) == 0
    assert capsys.readouterr().out == "made/kimi/x\n"
    assert "flow_id" not in json.loads((tmp_path / "made/kimi/x/meta.json").read_text())
    assert main(["verify", "made"]) == 0


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("line", "code", "err"),
    [
        ("prune --flows {URL}", 2, "error: recordings in {URL} cannot be pruned from here\ntry: a lifecycle rule of the bucket"),
        ("pin last --flows {URL}", 2, "error: {URL}/2026-11-20/183401-openrouter-0f3c9a12-bbbbbb is in a store, where toolmend removes"),
        ("verify {URL} --update --yes", 2, "error: fixtures in a store cannot be updated: {URL}/"),
        ("verify {URL}/nix", 2, "error: no fixture in {URL}/nix\ntry: "),
        ("show nix --flows {URL}", 2, "error: no such recording: 'nix' in {URL}\ntry: toolmend flows --flows {URL}\n"),
        ("show {URL}", 2, "error: {URL} holds 4 recordings: "),
        ("show {URL}/nix", 2, "error: no recording in {URL}/nix\ntry: "),
        ("flows s3://k:abc/def@bucket", 2, "error: FOLDER: a s3:// URL with a user and a password"),
        ("flows --flows s9://bucket", 2, "error: --flows: no such store: s9://"),
        ("serve {URL}/nix", 2, "error: no playable recording in {URL}/nix\n"),
    ],
)
def test_what_is_refused(line: str, code: int, err: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.replace("{URL}", URL).split()) == code
    said = capsys.readouterr().err
    assert said.startswith(err.replace("{URL}", URL))
    assert "abc" not in said


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("line", ["flows {URL}", "show last --flows {URL}", "verify {URL}", "serve {URL}"])
def test_a_store_that_cannot_be_read(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    Trying.reads = "find"
    assert main(line.replace("{URL}", URL).split()) == 3
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"error: {URL} cannot be read: RuntimeError: the store says no to [REDACTED]\n")
    assert BOOM not in err


def test_a_package_that_is_missing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    wrong = "recordings in s3:// need a package that is not installed\ntry: pip install 'toolmend[store]' s3fs\n"
    say(capsys, "flows", "s3://bucket", code=4, err=f"error: FOLDER: {wrong}")
    monkeypatch.setenv("TOOLMEND_FLOWS", "s3://bucket")
    say(capsys, "show", "last", code=4, err=f"error: TOOLMEND_FLOWS: {wrong}")


@pytest.mark.parametrize("name", ["s3://bucket/prefix", "off", "./flows"])
def test_what_a_proxy_is_told_of_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = absolute({"toolmend_flows": name})["toolmend_flows"]
    assert told == (str(tmp_path / "flows") if name == "./flows" else name)
    assert recordings_of(f"toolmend: listens to a; dialects: auto; recordings in {told}") == told


def test_served(local: Path) -> None:
    """A folder of this machine by its URL, in a process of its own."""
    line = [sys.executable, "-u", "-m", "toolmend", "serve", f"file://{local}/kimi", "--speed", "0"]
    env = os.environ | {"PYTHONPATH": str(ADDON)}
    with subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            url = process.stdout.readline().strip()
            asked = json.loads((local / "kimi/case/request.json").read_bytes())
            with httpx.Client(trust_env=False) as client:
                assert client.post(f"{url}{META['path']}", json=asked).content == LEAK
        finally:
            process.terminate()


def test_the_doctor_asks_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It tells what waits on this machine, and for how long."""
    monkeypatch.setenv("TOOLMEND_FLOWS", URL)
    Trying.reads = "find"
    root = home(StoreUrl(URL))
    (fine,) = disk.folder(machine := Machine.here(tmp_path, None))
    assert fine.text == f"recordings go to {URL}, by way of {root}"
    folder = keep(root / "1-abcdef/2026-11-20/183401-openrouter-0f3c9a12-abcdef", in_events(LEAK))
    root.chmod(0o700)
    os.utime(folder, (0, 0))
    (late,) = disk.folder(machine)
    assert late.text == f"1 recording for {URL} wait in {root} for an hour or more"
    (taken,) = disk.space(machine)
    assert taken.text.startswith("1 recording, 0.0 MB; ")
