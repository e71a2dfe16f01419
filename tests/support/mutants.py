"""Whether the tests notice faults in the core: mutations at random, each against the tests that run its line.

    scripts/mutants [--count 150] [--seed 1] [PATH …]      exit code 1 if fewer than 90 % are killed

Rule of this file: it changes a copy of the tree, never the tree. Which tests run a line, and how long they take, was told by
scripts/test-coverage. A mutant is killed by a failing test, or by one that takes far too long; the quick tests, and those of the
file that is named like the module, come first. What no test can notice is listed in mutants.toml, with the reason.
"""

import json
import os
import random
import resource
import shutil
import sqlite3
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
import coverage
import hypothesis
import mitmproxy.http
import pytest

from tests.support.mutations import Mutation, mutations
from tests.support.paths import ROOT

CORE = tomllib.loads((ROOT / "tests/coverage.toml").read_text())["tool"]["coverage"]["run"]["include"]
EQUIVALENT = {(row["path"], row["was"], row["now"]) for row in tomllib.loads((ROOT / "tests/mutants.toml").read_text())["equivalent"]}
TIMES = ROOT / ".pytest_cache/v/toolmend/times"
TREE = ("addon", "tests", "flows", "fuzz", "bench", "scripts", "pyproject.toml", "README.md", "CHANGELOG.md", "constraints.txt")

FIRST = 1.0
"""Seconds of tests that are tried first: most mutants die of them."""

THEN = 60.0
"""Seconds of all tests that are tried: the quickest of those that there are."""

KILLED = 0.9
LOADED = (hypothesis, mitmproxy.http)  # once, and not in every child

type Tests = dict[str, float]
"""The ids of tests, with the seconds that each takes."""


class Covered:
    """Which tests run which line: coverage's database, whose tables its documentation describes."""

    def __init__(self) -> None:
        self._data = sqlite3.connect(ROOT / ".coverage")
        self._times: Tests = json.loads(TIMES.read_text())

    def of(self, mutation: Mutation) -> Tests:
        """The tests of a line. One that runs as its module is imported is run by all of the module, or of its kin."""
        found = self._contexts(mutation.path, "and (fromno = ? or tono = ?)", mutation.line, mutation.line)
        if "" in found or not found:
            found = self._contexts(mutation.path) - {""}
        if not found:  # a file of data
            found = {name for name in self._times if any(word in name for word in kin(mutation.path))}
        return {name: self._times[name] for name in found if name in self._times}

    def _contexts(self, path: str, where: str = "", *values: int) -> set[str]:
        query = f"select distinct context_id from arc where file_id = (select id from file where path = ?) {where}"  # noqa: S608
        rows = self._data.execute(f"select context from context where id in ({query})", (path, *values))  # noqa: S608
        return {name for (name,) in rows}


def unmeasured(path: str) -> set[int]:
    """The lines that depend on the Python and on what is installed: coverage.toml leaves them out."""
    _, _, excluded, _, _ = coverage.Coverage(data_file=None, config_file=str(ROOT / "tests/coverage.toml")).analysis2(str(ROOT / path))
    return set(excluded)


def kin(path: str) -> tuple[str, str]:
    """Words that test files about such a module have in their names."""
    return Path(path).stem.partition("_")[0], Path(path).parent.name


def ordered(path: str, tests: Tests) -> list[str]:
    """The tests for a mutant of a file: the quick ones of its own test files first, a row of each table in turn."""
    stem = Path(path).stem
    rows = Counter[str]()

    def key(test: str) -> tuple[bool, int, int]:
        file, _, name = test.partition("::")
        table = file + name.partition("[")[0]
        rows[table] += 1
        return tests[test] > FIRST / 4, 0 if stem in file else 1 if any(word in file for word in kin(path)) else 2, rows[table]

    return sorted(sorted(tests, key=tests.__getitem__), key=key)


def up_to(seconds: float, tests: Iterable[str], times: Tests) -> list[str]:
    """As many of the tests as take so long."""
    out: list[str] = []
    for test in tests:
        seconds -= times[test] + 0.01  # what a test costs beside its own time
        if seconds < 0 and out:
            break
        out.append(test)
    return out


def dies(tree: Path, tests: Sequence[str], seconds: float) -> bool:
    """Whether one of the tests fails, or they use more seconds of the processor than they may."""
    child = os.fork()
    if not child:
        code = 3
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
            os.chdir(tree)
            for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
                del sys.modules[name]  # those of the copy take their place
            sys.path[:0] = [str(tree / "addon"), str(tree)]
            options = ["-x", "-q", "--assert=plain", "--hypothesis-seed=0", "-p", "no:cacheprovider", "-p", "no:xdist"]
            code = pytest.main([*options, "--rootdir", str(tree), *tests])
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] != 0


def copied(folder: Path) -> None:
    for name in TREE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("node_modules", "e2e"))
        else:
            shutil.copy(ROOT / name, folder / name)
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder / ".hypothesis")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--count", default=150, show_default=True, help="How many mutants.")
@click.option("--seed", default=1, show_default=True, help="Which ones.")
@click.argument("paths", nargs=-1)
def main(count: int, seed: int, paths: tuple[str, ...]) -> None:
    """Puts faults into the core, or into the files named, one at a time, and tells which the tests do not notice."""
    files = paths or sorted({str(path.relative_to(ROOT)) for each in CORE for path in ROOT.glob(each) if path.suffix == ".py"})
    made = [each for path in files for each in mutations(path, (ROOT / path).read_text())]
    if gone := {row for row in EQUIVALENT if row[0] in files} - {(each.path, each.was, each.now) for each in made}:
        sys.exit("\n".join(f"tests/mutants.toml: no such mutant of {path}:\n  - {was}\n  + {now}" for path, was, now in sorted(gone)))
    made = [each for each in made if (each.path, each.was, each.now) not in EQUIVALENT]
    left_out = {path: unmeasured(path) for path in files}
    made = [each for each in made if each.line not in left_out[each.path]]
    made = sorted(random.Random(seed).sample(made, min(count, len(made))))  # file by file
    covered, told, lost = Covered(), Counter[str](), defaultdict[str, list[Mutation]](list)
    with tempfile.TemporaryDirectory(prefix="toolmend-mutants-") as name:
        tree = Path(name)
        copied(tree)
        for number, mutation in enumerate(made, 1):
            times = covered.of(mutation)
            tests = up_to(THEN, ordered(mutation.path, times), times)
            first = up_to(FIRST, tests, times)
            (tree / mutation.path).write_text(mutation.source)
            stages = [stage for stage in (first, tests[len(first) :]) if stage]
            killed = any(dies(tree, stage, 20 + 5 * sum(times[test] for test in stage)) for stage in stages)
            shutil.copy(ROOT / mutation.path, tree / mutation.path)
            told["killed" if killed else "survived"] += 1
            if not killed:
                lost[mutation.path].append(mutation)
                click.echo(f"{mutation.path}:{mutation.line} ({len(tests)} of {len(times)} tests)\n  - {mutation.was}\n  + {mutation.now}")
            if number % 10 == 0:
                click.echo(f"{number} of {len(made)}: {told['killed']} killed", err=True)
    share = told["killed"] / len(made)
    click.echo(f"{told['killed']} of {len(made)} mutants killed: {share:.1%}")
    sys.exit(share < KILLED)


if __name__ == "__main__":
    main()
