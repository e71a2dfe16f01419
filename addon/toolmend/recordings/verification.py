"""Fixtures played once more: does the client still get what it got?

    for result in check_all(folders):
        result.passed, result.how, result.expected, result.got, result.notes

A stream is played in its recorded chunks, whole, byte by byte, in random pieces and in two, and gives the same bytes each time.

Rule of this file: nothing is written here but by `update`; what is wrong with a fixture is told in its result, not raised.
"""

import os
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from hashlib import sha256
from itertools import accumulate, pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ..replay import Recording, RecordingError, load, replay
from ..value import value
from . import fixture
from .folder import FORMAT
from .regular_file import read

SPLITS = 64
"""Two-way splits of a stream, unless more are asked for: a fixture takes a tenth of a second, and not five."""

MAX_WORK = 256 * 1024 * 1024
"""Bytes that one fixture is played for; a stream of a megabyte is so split at some 250 places, however many are asked for."""

FEW = 3
"""Fixtures that are played here: to start other processes takes as long."""

_SIZES = (1, 2, 3, 7, 20, 90, 400)


@value
class Result:
    """How a fixture did. `how` and `problem` are empty if it passed; `how` says in which chunks it did not.

    `expected` and `got` are bodies, where they differ. `notes` tell what is no failure, but worth knowing. `renewable`: `update`
    may make it pass, or take such a note away.
    """

    folder: Path
    passed: bool = True
    how: str = ""
    problem: str = ""
    expected: bytes = b""
    got: bytes = b""
    notes: tuple[str, ...] = ()
    renewable: bool = False


def check_all(folders: Sequence[Path], splits: int | None = SPLITS, jobs: int = 0) -> Iterator[Result]:
    """The results, in the order of the folders, each as soon as it is known; on all cores, or on so many."""
    jobs = jobs or os.cpu_count() or 1
    one = partial(check, splits=splits)
    if jobs == 1 or len(folders) <= FEW:
        yield from map(one, folders)
        return
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))  # a fork would take over threads that are not there
    try:
        yield from pool.map(one, folders)
    finally:
        pool.shutdown(cancel_futures=True)


def check(folder: Path, splits: int | None = SPLITS) -> Result:
    """Plays one fixture; `splits` of all the places where a stream can be cut in two, None for all. Raises nothing."""
    try:
        recording = load(folder)
        old = tuple(_old(recording))
        notes = (*old, *_idle(recording))
        if _format(recording.meta) > FORMAT:
            problem = f"its format is of a newer version, {recording.meta['format']}"
            return Result(folder, passed=False, problem=problem, notes=notes)
        for how, chunks in _ways(recording, splits):
            got, rules = replay(recording, chunks)
            if got != recording.client:
                problem = "the client gets something else"
                return Result(folder, False, how, problem, recording.client, got, notes, renewable=chunks is None)
            told = recording.meta.get("rules")
            if rules != told and (told or recording.meta.get("state") != "partial"):  # a crash leaves one that tells none
                before, now = (", ".join(some or ()) or "none" for some in (told, rules))
                problem = f"the rules that fire are {now}; they were {before}"
                return Result(folder, False, how, problem, notes=notes, renewable=chunks is None)
    except RecordingError as error:
        return Result(folder, passed=False, problem=str(error).removeprefix(f"{folder}: "))
    except Exception as error:  # a fixture that was written by hand may hold anything
        return Result(folder, passed=False, problem=f"it cannot be played: {type(error).__name__}: {error}")
    return Result(folder, notes=notes, renewable=bool(old))


def update(folder: Path) -> None:
    """Has a fixture expect what the client gets today. Raises RecordingError, OSError."""
    recording = load(folder)
    kept = {name: read(folder / name) for name in _names(folder) if not name.startswith(("client.", "message."))}
    fixture.replace(folder, fixture.files(recording, kept))


def cuts(body: bytes, splits: int | None = None) -> Iterator[tuple[str, list[bytes]]]:
    """The body whole, byte by byte, at random, and at every two-way split (or at so many of them); and in words, how."""
    yield "whole", [body]
    yield "byte by byte", [body[at : at + 1] for at in range(len(body))]
    for seed in range(4):
        dice = random.Random(seed)
        out, at = [], 0
        while at < len(body):
            size = dice.choice(_SIZES)
            out.append(body[at : at + size])
            at += size
        yield f"in random pieces (seed {seed})", out
    places: Sequence[int] = range(1, len(body))
    if splits is not None and splits < len(places):
        places = sorted(random.Random(len(body)).sample(places, splits))
    for at in places:
        yield f"in two, cut behind byte {at}", [body[:at], body[at:]]


def _ways(recording: Recording, splits: int | None) -> Iterator[tuple[str, Sequence[bytes] | None]]:
    yield "in its recorded chunks", None
    if not recording.stream:
        return
    body = b"".join(recording.chunks)
    most = MAX_WORK // (len(body) or 1)
    ends = [0, *accumulate(map(len, recording.chunks))]
    timed = recording.meta.get("settings", {}).get("policy") == "collect"
    for how, chunks in cuts(body, most if splits is None else min(splits, most)):
        if timed:  # what it sends depends on when a byte came; so it is not taken together with later ones
            places = sorted({*ends, *accumulate(map(len, chunks))})
            yield how, [body[first:last] for first, last in pairwise(places)]
        else:
            yield how, chunks


def _old(recording: Recording) -> Iterator[str]:
    """What an update would set right."""
    if _format(recording.meta) < FORMAT:
        yield f"its format is of an older version, {recording.meta.get('format')}"
    sums = recording.meta.get("sha256") or {}
    for name in _names(recording.folder):
        if name in sums and sums[name] != sha256(read(recording.folder / name)).hexdigest():
            yield f"{name} was changed since it was made"


def _idle(recording: Recording) -> Iterator[str]:
    if not recording.meta.get("rules") and b"".join(recording.chunks) == recording.client:
        yield "no rule is at work: it passes as it came"


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.*") if path.name != "meta.json" and not path.name.startswith("."))


def _format(meta: dict[str, Any]) -> int:
    found = meta.get("format")
    return found if isinstance(found, int) else 0
