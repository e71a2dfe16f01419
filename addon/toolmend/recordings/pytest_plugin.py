"""The pytest plugin, installed with the package: recordings as tests, and as the provider that a test calls.

    pytest --toolmend-flows=recordings                    each recording below the folder is a test: it is replayed

    def test_my_agent(toolmend_upstream):
        provider = toolmend_upstream("recordings/weather")            # or no folder: those of --toolmend-flows
        client = OpenAI(base_url=provider.url + "/v1", api_key="none")
        ...                                               answered by the recording of the same request; nothing goes out

A request without a matching recording gets an error that names the nearest one, and fails the test. Nothing is ever recorded.

1. Unused, the plugin costs only its import: nothing of toolmend is imported at the top.
2. Recordings are data, possibly of someone else: in the folders of --toolmend-flows only recordings are collected, no conftest.py
   is imported, no link is followed, and a pytest.ini or the like is a usage error.

XX: pytest reads settings before it loads plugins: in its working directory, or near the paths on the command line. It takes the
DIR of `--toolmend-flows DIR` for such a path, as it does not know the option yet. So `-p` in a pytest.ini there imports code
before this plugin can refuse it. `--toolmend-flows=DIR`, from outside of DIR, is safe; the other form works with a warning.
"""

import os
import shlex
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

import pytest

if TYPE_CHECKING:
    from .fixtures.verification import Result
    from .playback.request_matching import Shelf
    from .playback.server import Request

FOLDERS = pytest.StashKey[tuple[Path, ...]]()
SPELLINGS = pytest.StashKey[tuple[Path, ...]]()
"""The same folders, also as they were named: a link may lead to one."""

OPTION = "--toolmend-flows"

FILE = "meta.json"
"""The file that every recording has."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Implements pytest's hook: adds `--toolmend-flows`."""
    parser.getgroup("toolmend").addoption(
        OPTION,
        action="append",
        default=[],
        metavar="DIR",
        help="Replay the recordings below a folder as tests: does the client still get the same bytes? Repeatable.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Implements pytest's hook, called before the first conftest.py is imported."""
    _set_up(early_config, early_config.known_args_namespace.toolmend_flows)


def pytest_configure(config: pytest.Config) -> None:
    """Implements pytest's hook: checks the folders. Raises UsageError."""
    given: list[str] = config.getoption("toolmend_flows")
    _set_up(config, given)
    if OPTION in config.invocation_params.args:
        wrong = "before a blank lets pytest read settings in that folder, and import what they name, before a plugin can refuse"
        config.issue_config_time_warning(pytest.PytestConfigWarning(f"{OPTION} {wrong}; write {OPTION}=DIR"), stacklevel=2)
    for text, folder in zip(given, _folders(config), strict=True):
        if not folder.is_dir():
            raise pytest.UsageError(f"--toolmend-flows: no such folder: {text}")
        if next(_recordings(folder), None) is None:
            raise pytest.UsageError(f"--toolmend-flows: no recordings in {text}")


def _set_up(config: pytest.Config, given: list[str]) -> None:
    """Stores the folders, and prevents what pytest does with files in them that no hook can prevent. Raises UsageError."""
    if FOLDERS in config.stash:
        return
    start = config.invocation_params.dir
    config.stash[FOLDERS] = tuple((start / text).resolve() for text in given)
    config.stash[SPELLINGS] = (*config.stash[FOLDERS], *(Path(os.path.normpath(start / text)) for text in given))
    if not given:
        return
    if config.inipath and _is_data(config.inipath, config):
        wrong = f"{config.inipath} would be pytest's settings, but lies in a folder of recordings"
        raise pytest.UsageError(f"--toolmend-flows: {wrong}; start pytest outside of it, with --toolmend-flows=DIR")
    if _is_data(config.rootpath, config) and not _is_data(start, config):  # there is a setup.py
        wrong = f"{config.rootpath} would be pytest's rootdir, but is a folder of recordings"
        raise pytest.UsageError(f"--toolmend-flows: {wrong}; write --toolmend-flows=DIR")
    manager: Any = config.pluginmanager
    load = manager._importconftest  # noqa: SLF001  pytest has no hook for it

    def load_others(path: Path, *args: Any, **more: Any) -> ModuleType:
        module: ModuleType = ModuleType("conftest") if _is_data(path, config) else load(path, *args, **more)
        return module

    manager._importconftest = load_others  # noqa: SLF001


@pytest.hookimpl(tryfirst=True)
def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Implements pytest's hook: files in the folders are only collected as recordings."""
    return _is_data(collection_path, config) or None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Implements pytest's hook: adds the folders to the collection, unless only paths in one of them are selected."""
    report = yield
    if isinstance(collector, pytest.Session) and report.passed:
        start = collector.config.invocation_params.dir
        chosen = [(start / word.partition("::")[0]).resolve() for word in collector.config.args]
        for folder in _folders(collector.config):
            if not any(path.is_relative_to(folder) for path in chosen):
                report.result.append(RecordingFolder.from_parent(collector, path=folder))
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collect_directory(path: Path, parent: pytest.Collector) -> "RecordingFolder | None":
    """Implements pytest's hook: a folder above a path on the command line."""
    return RecordingFolder.from_parent(parent, path=path) if _is_data(path, parent.config) else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Implements pytest's hook: a path on the command line. What other plugins collect in the folders is dropped."""
    others = yield
    if not _is_data(file_path, parent.config):
        return others
    return [RecordingFile.from_parent(parent, path=file_path)] if file_path.name == FILE else []


class Data:
    """A file or folder of recordings: no conftest.py in them provides hooks."""

    parent: Any

    @property
    def ihook(self) -> Any:
        return self.parent.ihook


class RecordingFolder(Data, pytest.Directory):
    """A folder that is a recording or contains some. Links are not followed."""

    def collect(self) -> Iterable[pytest.Collector]:
        with os.scandir(self.path) as found:
            files = sorted(found, key=lambda file: file.name)
        if any(file.name == FILE and file.is_file(follow_symlinks=False) for file in files):
            yield RecordingFile.from_parent(self, path=self.path / FILE)
            return
        for file in files:
            if file.is_dir(follow_symlinks=False):
                yield RecordingFolder.from_parent(self, path=Path(file.path))


class RecordingFile(Data, pytest.File):
    """A recording, as its meta.json."""

    def collect(self) -> Iterable[pytest.Item]:
        yield RecordingItem.from_parent(self, name="replay")


class RecordingItem(Data, pytest.Item):
    """A recording, replayed in its own chunks and in others."""

    def runtest(self) -> None:
        from .fixtures.verification import check  # noqa: PLC0415
        from .read.library import NO_ANSWER, entry  # noqa: PLC0415  see above

        state = entry(self.path.parent).state
        if state in NO_ANSWER:
            pytest.skip("it has no response to replay")
        if state == "partial":
            pytest.skip("it is partial: its proxy was stopped, or is still recording")
        result = check(self.path.parent)
        for note in result.notes:
            self.add_report_section("call", "toolmend", note)
        if not result.passed:
            raise Differs(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if not isinstance(excinfo.value, Differs):
            return super().repr_failure(excinfo, style)
        return "\n".join(_report(excinfo.value.result))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path.parent, None, self.path.parent.name


class Differs(Exception):
    """The client does not get the recorded bytes."""

    def __init__(self, result: "Result") -> None:
        super().__init__(result.problem)
        self.result = result


class ReplayProvider:
    """Serves recordings. `url`: where; `missed`: descriptions of the requests without a matching recording."""

    def __init__(self, shelf: "Shelf", side: Any, speed: float) -> None:
        from .playback.playback import Player  # noqa: PLC0415  see above
        from .playback.server import Upstream  # noqa: PLC0415

        self.missed: list[str] = []
        self._player = Player(shelf, side, speed=speed)
        self._player.report = self._report
        self._upstream = Upstream(self._player)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._upstream.port}"

    @property
    def requests(self) -> "list[Request]":
        """The received requests, in order."""
        return self._upstream.requests

    def __enter__(self) -> Self:
        self._upstream.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._upstream.__exit__(None, None, None)

    def _report(self, request: "Request", words: str) -> None:
        """Called in the server's thread."""
        if self._player.misses > len(self.missed):
            self.missed.append(f"{request.method} {request.path}: {words}")


@pytest.fixture
def toolmend_upstream(request: pytest.FixtureRequest) -> Iterator[Callable[..., ReplayProvider]]:
    """Serves recordings on loopback: call it with folders, and with `side`, `speed` and `order`; it returns a ReplayProvider.

    A folder is relative to pytest's root; without any, those of --toolmend-flows are used. `side`: "client" is what an agent got
    through toolmend, "upstream" what the provider sent. `speed`: 1 is the recorded pace, 0 is without waits. `order`: they are
    played in order of recording, for any request.
    """
    from .playback.playback import shelf  # noqa: PLC0415
    from .read.library import entries  # noqa: PLC0415  see above

    with ExitStack() as stack:
        providers: list[ReplayProvider] = []

        def serve(*folders: str | Path, side: Any = "client", speed: float = 0, order: bool = False) -> ReplayProvider:
            roots = [request.config.rootpath / folder for folder in folders] or list(_folders(request.config))
            found, left_out = shelf((entry for root in roots for entry in entries(root)), side, order=order)
            if not found.takes:
                where = ", ".join(map(str, roots)) or "no folder: name one, or give --toolmend-flows"
                pytest.fail("\n".join([f"toolmend_upstream: no playable recordings in {where}", *left_out]), pytrace=False)
            for line in left_out:
                request.node.add_report_section("setup", "toolmend", f"not played: {line}")
            providers.append(stack.enter_context(ReplayProvider(found, side, speed)))
            return providers[-1]

        yield serve
    if missed := [words for provider in providers for words in provider.missed]:
        pytest.fail("\n".join(["toolmend_upstream: no recording answered", *missed]), pytrace=False)


def _folders(config: pytest.Config) -> tuple[Path, ...]:
    return config.stash[FOLDERS]


def _is_data(path: Path, config: pytest.Config) -> bool:
    """Whether a path lies in one of the folders, by name or through links."""
    folders = config.stash[SPELLINGS]
    return bool(folders) and any(spelling.is_relative_to(folder) for spelling in (path, path.resolve()) for folder in folders)


def _recordings(folder: Path) -> Iterator[Path]:
    """Yields the recordings in a folder; links are not followed, and recordings are not nested."""
    for place, folders, files in os.walk(folder):
        if FILE in files:
            folders.clear()
            yield Path(place)


def _report(result: "Result") -> Iterator[str]:
    from .read.event_diff import diff  # noqa: PLC0415  see above

    yield f"{result.folder}: {result.problem}" + (f", {result.how}" if result.how else "")
    yield from diff(result.expected, result.got)
    if result.renewable:
        yield f"try: {shlex.join(['toolmend', 'verify', str(result.folder), '--update'])}  (if what comes today is right)"
