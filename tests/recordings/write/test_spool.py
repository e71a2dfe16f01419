"""spool.py: what is recorded comes to lie in the store, whole and once, whatever fails on the way; and waits on the disk until then."""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from mitmproxy import ctx
from mitmproxy.test import taddons

from tests.support.paths import ADDON, ROOT
from tests.support.recorder import EXCHANGE, KEY, all_done, event, files, meta, record, wait_for
from tests.support.spool import URL, Worker
from tests.support.stores import BOOM, Trying, emptied, failing, stored
from toolmend.config.retention import Keep
from toolmend.config.settings import Settings
from toolmend.config.store_url import StoreUrl
from toolmend.proxy.lifecycle import ExchangeLifecycle
from toolmend.recordings.read.library import entries
from toolmend.recordings.write import spool as module
from toolmend.recordings.write.recorder import LiveRecording
from toolmend.recordings.write.spool import FIRST, LONGEST, Spool, home, pause


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(module, "FIRST", 0.01)  # seconds
    monkeypatch.setattr(module, "LONGEST", 0.05)
    emptied()
    yield
    emptied()


@pytest.fixture
def start() -> Iterator[Callable[..., Worker]]:
    with ExitStack() as stack:

        def start(*args: object, **more: object) -> Worker:
            worker = Worker(*args, **more)  # type: ignore[arg-type]
            stack.callback(worker.close)
            return worker

        yield start


def kept(recording: LiveRecording) -> dict[str, bytes]:
    """Its files in the store."""
    path = "/" + recording.place.removeprefix("trying://")
    return {name.rpartition("/")[2]: data for name, data in stored().items() if name.startswith(f"{path}/")}


def up(*recordings: LiveRecording) -> bool:
    """Whether they lie in the store, and nowhere else."""
    return all("meta.json" in kept(one) and not one.folder.exists() for one in recordings)


def test_what_is_recorded_is_uploaded_whole_and_goes_from_here(start: Callable[..., Worker]) -> None:
    worker = start()
    recording = record(worker.recorder, body=event(f"my key is {KEY}"))
    assert recording.place == f"trying://bucket/team/{recording.folder.parent.name}/{recording.folder.name}"
    assert recording.folder.name.endswith(f"-0f3c9a12-{worker.spool.worker}")
    wait_for(lambda: up(recording))
    found = kept(recording)
    assert set(found) == {"meta.json", "request.json", "upstream.sse", "upstream.idx", "client.sse", "message.json"}
    about = json.loads(found["meta.json"])
    assert (about["state"], about["flow_id"]) == ("complete", EXCHANGE.flow_id)
    assert Trying.names[-1].endswith("/meta.json")
    assert all(KEY.encode() not in data for data in found.values())
    worker.close()
    assert worker.log == []
    assert not worker.spool.folder.exists()


@pytest.mark.parametrize("at", range(1, 7), ids=lambda at: f"upload {at}")
def test_an_upload_that_fails_once_is_made_again(at: int, start: Callable[..., Worker]) -> None:
    with failing(at) as tried:
        worker = start()
        recordings = [record(worker.recorder, body=event(str(n))) for n in range(3)]
        wait_for(lambda: up(*recordings))
    assert len(tried) > at
    assert [kept(one)["upstream.sse"] for one in recordings] == [event(str(n)) for n in range(3)]
    worker.close()
    (line,) = worker.log
    assert line.startswith(f"recordings wait in {worker.spool.folder}, since trying://bucket/team does not take them: RuntimeError: the")
    assert BOOM[-10:] not in line


def test_a_store_that_fails_for_ever_costs_a_line_and_nothing_else(start: Callable[..., Worker]) -> None:
    with failing(forever=True) as tried:
        worker = start()
        recordings = [record(worker.recorder, body=event(str(n))) for n in range(5)]
        wait_for(lambda: len(tried) > 5)
        worker.close()
        assert len(worker.log) == 1
    assert [json.loads((one.folder / "meta.json").read_bytes())["state"] for one in recordings] == ["complete"] * 5
    assert stored() == {}


def test_what_was_left_is_taken_up_by_the_next(start: Callable[..., Worker]) -> None:
    """The first is gone, as a process that has ended: nobody holds its lock."""
    with failing(forever=True):
        first = start()
        recording = record(first.recorder)
        wait_for(lambda: bool(first.log))
        was = files(recording.folder)
        first.close()
        assert first.spool._lock
        os.close(first.spool._lock)
    second = start()
    wait_for(lambda: not first.spool.folder.exists() and "meta.json" in kept(recording) and not second.left)
    assert kept(recording) == was
    assert second.log == []


CRASHING = """
import sys
from tests.support.recorder import EXCHANGE, event, record
from tests.support.spool import Worker
worker = Worker()
recording = worker.recorder.start(EXCHANGE)
recording.passed(event("half"), b"")
print(recording.folder, flush=True)
sys.stdin.read()
"""


def test_a_process_that_writes_keeps_its_own_until_it_is_killed(start: Callable[..., Worker]) -> None:
    env = os.environ | {"PYTHONPATH": f"{ADDON}{os.pathsep}{ROOT}"}
    line = [sys.executable, "-c", CRASHING]
    with subprocess.Popen(line, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        folder = Path(process.stdout.readline().strip())
        written = [folder / name for name in ("upstream.idx", "upstream.sse")]  # in any order: the client has not had it
        wait_for(lambda: all(file.exists() and file.stat().st_size > 0 for file in written))
        worker = start()
        worker.spool._adopt()
        assert folder.exists()
        assert worker.left == []
        process.send_signal(signal.SIGKILL)
        process.wait()
    worker.close()
    start()
    wait_for(lambda: not folder.parents[1].exists() and len(Trying.names) > 4)
    assert Trying.names[-1].endswith(f"{folder.name}/meta.json")
    found = {name.rpartition("/")[2]: data for name, data in stored().items()}
    assert (found["upstream.sse"], json.loads(found["meta.json"])["state"]) == (event("half"), "partial")


def test_two_workers_never_meet(start: Callable[..., Worker]) -> None:
    """With the same request ids, in the same seconds."""
    workers = [start(), start()]
    recordings = [record(worker.recorder, body=event(f"{n} {worker.spool.worker}")) for n in range(10) for worker in workers]
    wait_for(lambda: up(*recordings))
    assert len({one.place for one in recordings}) == 20
    bodies = {data for name, data in stored().items() if name.endswith("/client.sse")}
    assert bodies == {event(f"{n} {worker.spool.worker}") for n in range(10) for worker in workers}


def test_who_records_waits_for_no_upload(start: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither does a shutdown, for longer than it is told; what hangs lies here still, and goes up the next time."""
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    go_on, hangs = threading.Event(), threading.Event()

    def hang() -> None:
        hangs.set()
        go_on.wait()

    Trying.act = hang
    worker = start()
    first = record(worker.recorder)
    hangs.wait()
    second = record(worker.recorder, replace(EXCHANGE, provider="kimi"))
    worker.close()
    assert worker.spool._thread
    assert worker.spool._thread.is_alive()
    assert meta(first.folder)["state"] == meta(second.folder)["state"] == "complete"
    go_on.set()
    worker.spool._thread.join()
    assert first.folder.exists()
    assert not any(name.endswith("meta.json") for name in stored())


def test_what_cannot_be_uploaded_is_bounded(start: Callable[..., Worker]) -> None:
    with failing(forever=True) as tried:
        worker = start(keep=Keep(size=30_000))
        for n in range(40):
            record(worker.recorder, body=event(str(n) * 1000))
        all_done(worker.recorder)
        wait_for(lambda: bool(tried))
        worker.recorder._sweeper._next = 0.0  # it looks once a minute
        record(worker.recorder)
        wait_for(lambda: sum(one.size for one in entries(worker.spool.folder)) < 40_000)
        wait_for(lambda: len(worker.log) == 2)
    assert worker.log[0].startswith("recordings wait in ")
    assert worker.log[1] == f"recordings that could not be uploaded to {URL} are deleted, as toolmend_keep says"
    last = record(worker.recorder, body=event("last"))
    wait_for(lambda: up(last))
    assert kept(last)["client.sse"] == event("last")


def test_a_folder_that_cannot_be_made_costs_the_recordings_and_a_line(tmp_path: Path) -> None:
    log: list[str] = []
    (tmp_path / "data").write_text("a file")
    spool = Spool(URL, log.append)
    assert not spool.ready()
    assert not spool.ready()
    assert log == [f"nothing is recorded for {URL}: Not a directory: {spool.folder}"]
    spool.close()
    (tmp_path / "data").unlink()
    spool = Spool(URL, log.append)
    assert spool.ready()
    spool.close()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_in_a_folder_of_this_machine_it_is_for_the_user_alone(start: Callable[..., Worker], tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        worker = start(StoreUrl(f"file://{tmp_path}/mounted/team"))
        recording = record(worker.recorder)
        worker.close()
    finally:
        os.umask(before)
    assert worker.log == []
    folder = Path(recording.place.removeprefix("file://"))
    assert not recording.folder.exists()
    assert {stat.S_IMODE(one.stat().st_mode) for one in (folder, *folder.parents[:3])} == {0o700}
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    assert {stat.S_IMODE(one.stat().st_mode) for one in (home(worker.spool.url), home(worker.spool.url).parent)} == {0o700}


@pytest.mark.parametrize("link", ["a day", "a file"])
def test_no_link_is_followed_there(start: Callable[..., Worker], tmp_path: Path, link: str) -> None:
    worker = start(StoreUrl(f"file://{tmp_path}/mounted"))
    recording = worker.recorder.start(EXCHANGE)
    folder = Path(recording.place.removeprefix("file://"))
    (tmp_path / "elsewhere").mkdir()
    place = folder.parent if link == "a day" else folder / "client.sse"
    place.parent.mkdir(parents=True)
    place.symlink_to(tmp_path / "elsewhere" / ("" if link == "a day" else "x"))
    recording.finish("complete")
    wait_for(lambda: bool(worker.log))
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert worker.left


def test_pauses_grow_and_end() -> None:
    first, longest = module.FIRST, module.LONGEST
    assert [pause(n) for n in range(4)] == [0.0, first, 2 * first, 4 * first]
    assert pause(1000) == longest < LONGEST
    assert FIRST < LONGEST


def test_each_store_has_a_folder_that_tells_its_name() -> None:
    names = [home(StoreUrl(url)).name for url in ("s3://b/a", "s3://b-a", "s3://B/a", "s3://" + "x" * 999)]
    assert len({*names}) == 4
    assert names[0].startswith("s3-b-a-")
    assert max(map(len, names)) < 80


def test_exchanges_record_to_a_store_and_then_to_a_folder(tmp_path: Path) -> None:
    with taddons.context():
        exchanges = ExchangeLifecycle()
        exchanges.configure(Settings(flows=URL))
        assert exchanges._spool
        recorder = exchanges._new_recorder()
        assert recorder
        exchanges.recorder = recorder
        first = record(recorder)
        exchanges.configure(Settings(flows=tmp_path / "flows"))
        assert exchanges._spool is None
        wait_for(lambda: up(first))
        assert set(kept(first)) > {"meta.json", "client.sse"}
        exchanges.recorder = exchanges._new_recorder()
        assert exchanges.recorder
        second = record(exchanges.recorder)
        exchanges.configure(Settings(flows=URL))
        exchanges.recorder = exchanges._new_recorder()
        assert exchanges.recorder
        third = record(exchanges.recorder)
        ctx.master.should_exit.set()
        exchanges.close()  # waits, as the process ends
    assert up(third)
    assert second.place == str(second.folder)
    assert second.folder.parent.parent == tmp_path / "flows"
