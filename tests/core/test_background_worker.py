"""A thread that is told things: whoever listens, who puts neither waits nor fails."""

import threading
from collections.abc import Iterator

import pytest

from toolmend.core.background_worker import BackgroundWorker


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """What somebody waits for who blocks; set at the end, so that no thread is left."""
    event = threading.Event()
    yield event
    event.set()


def test_all_is_told_in_order() -> None:
    told: list[int] = []
    teller = BackgroundWorker("x", told.append, print, 1000, lambda: told.append(-1))
    assert all(teller.put(n) for n in range(100))
    teller.close()
    assert told == [*range(100), -1]
    assert not teller.put(1)
    teller.close()


def test_who_raises_is_told_on_and_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    told: list[int] = []

    def tell(item: int) -> None:
        if item % 2:
            raise ValueError("sk-a-secret")
        told.append(item)

    teller = BackgroundWorker("x", tell, said.append, 1000)
    for n in range(10):
        teller.put(n)
    teller.close()
    assert told == [0, 2, 4, 6, 8]
    assert teller.failed == 5
    assert len(said) == 1
    assert said[0].startswith("toolmend: x: ValueError in tell (test_background_worker.py:")
    assert capsys.readouterr() == ("", "")


def test_who_blocks_is_not_waited_for(release: threading.Event) -> None:
    begun = threading.Event()

    def tell(_: int) -> None:
        begun.set()
        release.wait()

    teller = BackgroundWorker("x", tell, print, 10)
    assert teller.put(0, 4)
    assert begun.wait(20)
    given = [teller.put(n, 3) for n in range(5)]
    assert given == [True, True, False, False, False]
    assert teller.put(9, 0)
    assert teller.dropped == 3
    teller.close(0)


def test_room_comes_back(release: threading.Event) -> None:
    told = threading.Semaphore(0)

    def tell(_: int) -> None:
        told.release()
        release.wait()

    teller = BackgroundWorker("x", tell, print, 1)
    assert teller.put(0)
    assert told.acquire(timeout=20)
    assert not teller.put(1)
    release.set()
    teller.close()
    assert (teller.dropped, teller.failed) == (1, 0)
    other = BackgroundWorker("y", lambda _: None, print, 1)
    while not other.put(2):
        pass
    for _ in range(100):
        while not other.put(3):  # room comes back as soon as the one before is told
            pass
    other.close()


def test_the_last_may_raise() -> None:
    said: list[str] = []

    def last() -> None:
        raise KeyError

    BackgroundWorker("x", print, said.append, 1, last).close()
    assert len(said) == 1
