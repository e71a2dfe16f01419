"""The pytest plugin, which comes with the package: recordings as tests, and as the provider that a test talks to.

    pytest --toolmend-flows recordings                    each recording below the folder is a test: it is played once more

    def test_my_agent(toolmend_upstream):
        provider = toolmend_upstream("recordings/weather")            # or no folder: those of --toolmend-flows
        client = OpenAI(base_url=provider.url + "/v1", api_key="none")
        ...                                               answered by the recording of the same request; nothing goes out

A request that no recording answers gets an error that names the nearest, and fails the test. Nothing is recorded, ever.

Rule of this file: who does not use it pays for nothing but its import. So nothing of toolmend's is imported at the top.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

if TYPE_CHECKING:
    from .recordings.matching import Shelf
    from .recordings.verification import Result
    from .upstream import Request

FOLDERS = pytest.StashKey[tuple[Path, ...]]()
FILE = "meta.json"
"""What a recording is told by."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Pytest's hook: `--toolmend-flows`."""
    parser.getgroup("toolmend").addoption(
        "--toolmend-flows",
        action="append",
        default=[],
        metavar="DIR",
        help="Play the recordings below a folder as tests: does the client still get what it got? May be given several times.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Pytest's hook: the folders are collected as if they stood on the command line. Raises UsageError."""
    given: list[str] = config.getoption("toolmend_flows")
    folders = tuple((config.invocation_params.dir / text).resolve() for text in given)
    config.stash[FOLDERS] = folders
    chosen = [(config.invocation_params.dir / word.partition("::")[0]).resolve() for word in config.args]
    for text, folder in zip(given, folders, strict=True):
        if not folder.is_dir():
            raise pytest.UsageError(f"--toolmend-flows: there is no folder {text}")
        if next(folder.rglob(FILE), None) is None:
            raise pytest.UsageError(f"--toolmend-flows: there is no recording in {text}")
        if not any(path.is_relative_to(folder) for path in chosen):  # else only those are wanted
            config.args.append(str(folder))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "RecordingFile | None":
    """Pytest's hook: what is a recording in one of the folders."""
    if file_path.name != FILE or not any(file_path.resolve().is_relative_to(folder) for folder in _folders(parent.config)):
        return None
    return RecordingFile.from_parent(parent, path=file_path)


class RecordingFile(pytest.File):
    """A recording, by its meta.json."""

    def collect(self) -> Iterable[pytest.Item]:
        yield RecordingItem.from_parent(self, name="replay")


class RecordingItem(pytest.Item):
    """A recording, played in its own chunks and in others."""

    def runtest(self) -> None:
        from .recordings.library import NO_ANSWER, entry  # noqa: PLC0415  see above
        from .recordings.verification import check  # noqa: PLC0415

        state = entry(self.path.parent).state
        if state in NO_ANSWER:
            pytest.skip("it has no answer that could be played")
        if state == "partial":
            pytest.skip("it is partial: its proxy was ended, or is still at it")
        result = check(self.path.parent)
        for note in result.notes:
            self.add_report_section("call", "toolmend", note)
        if not result.passed:
            raise Differs(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if not isinstance(excinfo.value, Differs):
            return super().repr_failure(excinfo, style)
        return "\n".join(_told(excinfo.value.result))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path.parent, None, self.path.parent.name


class Differs(Exception):
    """The client does not get what it got."""

    def __init__(self, result: "Result") -> None:
        super().__init__(result.problem)
        self.result = result


class Provider:
    """Recordings that are being served. `url`: where; `missed`: the requests that no recording answered, in words."""

    def __init__(self, shelf: "Shelf", side: Any, speed: float) -> None:
        from .recordings.playing import Player  # noqa: PLC0415  see above
        from .upstream import Upstream  # noqa: PLC0415

        self.missed: list[str] = []
        self._player = Player(shelf, side, speed=speed)
        self._player.told = self._told
        self._upstream = Upstream(self._player)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._upstream.port}"

    @property
    def requests(self) -> "list[Request]":
        """Those that came, in order."""
        return self._upstream.requests

    def __enter__(self) -> Self:
        self._upstream.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._upstream.__exit__(None, None, None)

    def _told(self, request: "Request", words: str) -> None:
        """In the server's thread."""
        if self._player.misses > len(self.missed):
            self.missed.append(f"{request.method} {request.path}: {words}")


@pytest.fixture
def toolmend_upstream(request: pytest.FixtureRequest) -> Iterator[Callable[..., Provider]]:
    """Serves recordings on loopback: call it with folders, and with `side`, `speed` and `order`; it returns a Provider.

    A folder is taken from pytest's root; without any it is those of --toolmend-flows. `side`: "client" is what an agent got
    through toolmend, "upstream" what the provider sent. `speed`: 1 is as recorded, 0 is at once. `order`: whatever is asked,
    they are played in the order they were recorded.
    """
    from .recordings.library import entries  # noqa: PLC0415  see above
    from .recordings.playing import shelf  # noqa: PLC0415

    with ExitStack() as stack:
        providers: list[Provider] = []

        def serve(*folders: str | Path, side: Any = "client", speed: float = 0, order: bool = False) -> Provider:
            roots = [request.config.rootpath / folder for folder in folders] or list(_folders(request.config))
            found, left_out = shelf((one for root in roots for one in entries(root)), side, order=order)
            if not found.takes:
                where = ", ".join(map(str, roots)) or "no folder: name one, or give --toolmend-flows"
                pytest.fail("\n".join([f"toolmend_upstream: there is nothing to play in {where}", *left_out]), pytrace=False)
            for line in left_out:
                request.node.add_report_section("setup", "toolmend", f"not played: {line}")
            providers.append(stack.enter_context(Provider(found, side, speed)))
            return providers[-1]

        yield serve
    if missed := [words for provider in providers for words in provider.missed]:
        pytest.fail("\n".join(["toolmend_upstream: no recording answered", *missed]), pytrace=False)


def _folders(config: pytest.Config) -> tuple[Path, ...]:
    return config.stash[FOLDERS]


def _told(result: "Result") -> Iterator[str]:
    from .recordings.event_diff import diff  # noqa: PLC0415  see above

    yield f"{result.folder}: {result.problem}" + (f", {result.how}" if result.how else "")
    yield from diff(result.expected, result.got)
    if result.renewable:
        yield f"try: {shlex.join(['toolmend', 'verify', str(result.folder), '--update'])}  (if what comes today is right)"
