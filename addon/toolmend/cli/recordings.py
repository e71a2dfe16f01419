"""What all commands that take recordings have in common: the option `--flows`, and the argument FLOW. Both may be in a store.

    @click.command()                                @click.command()
    @click.argument("flow", type=FLOW)              @click.argument("flows", nargs=-1, type=FLOW)
    @flows_option()                                 @flows_option("root")
    def show(flow: Entry) -> None: ...              def verify(flows: tuple[Entry, ...], root: Place) -> None: ...

Rule of this file: the folder is named in one way for all of them: `--flows`, or else what the settings say. They are imported
only where a file says something: they are slow. What lies in a store is fetched into a folder of the command's own, so that all
but this file reads folders.
"""

import os
import re
import shlex
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from ..config.checks import SettingsError
from ..config.config_places import found, named
from ..config.data_folder import data_folder, on_one_line, recordings_folder
from ..config.store_url import MissingPackage, StoreUrl, is_url, store_url
from ..recordings.read.library import Entry, NotFound, entries, find
from . import Exit, Problem, visible
from .error_hints import misset
from .progress import watched

if TYPE_CHECKING:
    from ..recordings.read.store import Store

type Place = Path | StoreUrl

_KEY, _TRY = "toolmend.flows", "toolmend.list"
"""Where click's context keeps the folder, and the command that lists what is there."""

_STORES, _FETCHED = "toolmend.stores", "toolmend.fetched"
"""Where it keeps the stores that were opened, and where each folder that was fetched lies in its store."""

LOOK_INTO = {"s3": "aws s3 ls", "gs": "gcloud storage ls", "gcs": "gcloud storage ls", "file": "ls -ld", "local": "ls -ld"}
"""Commands that show whether a store can be read at all."""


VARIABLE = "TOOLMEND_FLOWS"

_HARMLESS = re.compile(r"\w[\w.-]*")
"""A name that means itself in every shell, and no option."""


class RecordingsFolder(click.Path):
    """A folder's path, or the URL of one in a store."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and is_url(value):
            return _url(param.opts[0] if isinstance(param, click.Option) else "FOLDER", value)
        return value if isinstance(value, StoreUrl) else super().convert(value, param, ctx)


FOLDER = RecordingsFolder()


def flows_option[F: Callable[..., Any]](name: str | None = None) -> Callable[[F], F]:
    """`--flows FOLDER`; a command that asks for it by `name` gets the folder, or the URL."""

    def keep(ctx: click.Context, _: click.Parameter, given: Place | None) -> Place:
        ctx.meta[_KEY] = folder = given or _default(ctx)
        ctx.meta[_TRY] = shlex.join(["toolmend", "flows", *(("--flows", str(given)) if given else ())])
        return folder

    return click.option(
        "--flows",
        *filter(None, [name]),
        metavar="FOLDER",
        type=FOLDER,
        is_eager=True,  # FLOW is looked up in it
        expose_value=name is not None,
        callback=keep,
        help="Where the recordings lie, a folder or a URL as in s3://bucket/prefix; by default where the settings say: "
        "TOOLMEND_FLOWS, a file, the user's data folder.",
    )


def folder_of(ctx: click.Context) -> Place:
    """Where the recordings lie that a command is about."""
    folder: Place = ctx.meta[_KEY]
    return folder


def listed(place: Place, since: datetime | None = None) -> list[Entry]:
    """All recordings at a place, newest first; of a store, none that is known to be older. Raises Problem."""
    if isinstance(place, Path):
        return entries(place)
    try:
        return _opened(place).entries(since, lambda found, total: watched(found, total, f"reading {place}"))
    except OSError as error:
        raise _unread(place, error) from None


def fetched(place: StoreUrl, found: Sequence[Entry] | None = None) -> list[Entry]:
    """Those, or all that lie there, with their files in their folders. Raises Problem."""
    chosen = listed(place) if found is None else found
    meta = click.get_current_context().meta
    try:
        got = list(watched(_opened(place).fetch(chosen), len(chosen), f"fetching from {place}"))
    except OSError as error:
        raise _unread(place, error) from None
    meta.setdefault(_FETCHED, {}).update({one.folder: one.url for one in got})
    return got


def place_of(folder: Path) -> str | None:
    """The URL of what was fetched into a folder; None for what was not."""
    context = click.get_current_context(silent=True)
    url: str | None = context.meta.get(_FETCHED, {}).get(folder) if context else None
    return url


def refused(place: Place, what: str, hint: str) -> Path:
    """The folder; a store is none. Raises Problem."""
    if isinstance(place, Path):
        return place
    raise Problem(f"recordings in {on_one_line(place)} are not {what} from here", try_=hint, code=Exit.USAGE)


class Flow(click.ParamType):  # type: ignore[type-arg]  # in old versions of click it has none
    """A recording: a folder's path or URL, `last`, a name or the beginning of one, or a request's id."""

    name = "flow"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Entry:
        if isinstance(value, Entry):
            return value
        assert ctx is not None
        try:
            if is_url(value):
                return self.of_store(_url("FLOW", value), None)
            place = folder_of(ctx)
            if isinstance(place, Path) or (Path(value) / "meta.json").is_file():
                return find(place if isinstance(place, Path) else Path(), value)
            return self.of_store(place, value)
        except NotFound as error:
            raise Problem(str(error), try_=ctx.meta[_TRY], code=Exit.USAGE) from None

    def of_store(self, place: StoreUrl, word: str | None) -> Entry:
        """What a word means there; without one, the only recording that lies there."""
        try:
            found = _opened(place).find(word) if word is not None else _single(place, _opened(place).entries())
        except OSError as error:
            raise _unread(place, error) from None
        return fetched(place, [found])[0]

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Names, newest first; `last` is one. The shell takes what it gets for a command's text: others are typed by hand."""
        place = folder_of(ctx)
        every = entries(place) if isinstance(place, Path) else []  # who presses a key waits for no network
        named = [one for one in every if _HARMLESS.fullmatch(one.name)]
        found = [CompletionItem(one.name, help=visible(f"{one.model} {one.state}")) for one in named]
        last = [CompletionItem("last", help="the newest one")] if found else []
        return [item for item in (*last, *found) if item.value.startswith(incomplete)]


FLOW = Flow()


def configured() -> bool:
    """Whether there is a file of settings."""
    return bool(named()[0] or found())


def _single(place: StoreUrl, found: Sequence[Entry]) -> Entry:
    if not found:
        raise NotFound(f"there is no recording in {on_one_line(place)}")
    if len(found) > 1:
        names = ", ".join(one.name for one in found[:4]) + " …" * (len(found) > 4)
        raise NotFound(f"{place} holds {len(found)} recordings: {names}")
    return found[0]


def _opened(place: StoreUrl) -> "Store":
    """The store, as this command has it open."""
    from ..recordings.read.store import Store  # noqa: PLC0415  an extra, which few have

    context = click.get_current_context()
    stores: dict[StoreUrl, Store] = context.meta.setdefault(_STORES, {})
    if place not in stores:
        stores[place] = Store(place, Path(context.with_resource(TemporaryDirectory(prefix="toolmend-flows-"))))
    return stores[place]


def _url(where: str, text: str) -> StoreUrl:
    try:
        return store_url(where, text)
    except MissingPackage as error:
        raise Problem(str(error).rpartition(", do: ")[0], try_=error.install, code=Exit.CONFIGURATION) from None
    except SettingsError as error:
        raise Problem(str(error), try_="toolmend flows --help", code=Exit.USAGE) from None


def _unread(place: StoreUrl, error: OSError) -> Problem:
    look = LOOK_INTO.get(place.protocol)
    path = place.url.partition("://")[2] if place.protocol in ("file", "local") else place.url
    return Problem(str(error), try_=f"{look} {shlex.quote(path)}" if look else None)


def _default(ctx: click.Context) -> Place:
    try:
        if text := os.environ.get(VARIABLE, "").strip():
            folder, says = recordings_folder(VARIABLE, text), f"variable {VARIABLE}"
        elif not configured():
            return data_folder() / "flows"
        else:
            from ..config.precedence import everywhere  # noqa: PLC0415  a tenth of a second

            said = everywhere({}).given["flows"]
            folder, says = recordings_folder(said.where, said.text), said.origin
    except MissingPackage as error:
        raise Problem(str(error).rpartition(", do: ")[0], try_=error.install, code=Exit.CONFIGURATION) from None
    except SettingsError as error:
        raise misset(error) from None
    if folder is None:
        raise Problem(
            f"nothing is recorded, says {says}",
            try_=f"{ctx.command_path} --flows FOLDER",
            code=Exit.CONFIGURATION,
        )
    return folder
