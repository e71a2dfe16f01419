"""What commands that take recordings share: the option `--flows`, and the argument FLOW. Both may be in a store.

    @click.command()                                @click.command()
    @click.argument("flow", type=FLOW)              @click.argument("flows", nargs=-1, type=FLOW)
    @flows_option()                                 @flows_option("root")
    def show(flow: Entry) -> None: ...              def verify(flows: tuple[Entry, ...], root: Place) -> None: ...

1. The folder is `--flows`, or else that of the settings, which are imported only if there is a settings file: they are slow.
2. Recordings in a store are fetched into a temporary folder of the command, so all other code reads folders.
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
from . import CliError, Exit, visible
from .error_hints import settings_error
from .progress import with_progress

if TYPE_CHECKING:
    from ..recordings.read.store import Store

type Place = Path | StoreUrl

_KEY, _TRY = "toolmend.flows", "toolmend.list"
"""Keys of click's context: the folder, and the command that lists its recordings."""

_STORES, _FETCHED = "toolmend.stores", "toolmend.fetched"
"""Keys of click's context: the opened stores, and the URL of each fetched folder."""

LOOK_INTO = {"s3": "aws s3 ls", "gs": "gcloud storage ls", "gcs": "gcloud storage ls", "file": "ls -ld", "local": "ls -ld"}
"""Commands that show whether a store can be read."""


VARIABLE = "TOOLMEND_FLOWS"

_HARMLESS = re.compile(r"\w[\w.-]*")
"""Names that need no quoting in any shell and do not look like an option."""


class RecordingsFolder(click.Path):
    """A folder's path, or a URL in a store."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and is_url(value):
            return _url(param.opts[0] if isinstance(param, click.Option) else "FOLDER", value)
        return value if isinstance(value, StoreUrl) else super().convert(value, param, ctx)


FOLDER = RecordingsFolder()


def flows_option[F: Callable[..., Any]](name: str | None = None) -> Callable[[F], F]:
    """Returns the option `--flows FOLDER`; a command that requests it by `name` gets the folder or URL."""

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
        help="Where the recordings are: a folder, or a URL such as s3://bucket/prefix. Default: TOOLMEND_FLOWS, a settings file, "
        "or the user's data folder.",
    )


def folder_of(ctx: click.Context) -> Place:
    """Returns where the recordings of this command are."""
    folder: Place = ctx.meta[_KEY]
    return folder


def list_recordings(place: Place, since: datetime | None = None) -> list[Entry]:
    """Returns all recordings at a place, newest first; for a store, without those known to be older than `since`.

    Raises:
        CliError: The store cannot be read.
    """
    if isinstance(place, Path):
        return entries(place)
    try:
        return _open_store(place).entries(since, lambda found, total: with_progress(found, total, f"reading {place}"))
    except OSError as error:
        raise _store_error(place, error) from None


def fetch_recordings(place: StoreUrl, found: Sequence[Entry] | None = None) -> list[Entry]:
    """Downloads recordings of a store, all by default, and returns them with their files.

    Raises:
        CliError: The store cannot be read.
    """
    chosen = list_recordings(place) if found is None else found
    meta = click.get_current_context().meta
    try:
        got = list(with_progress(_open_store(place).fetch(chosen), len(chosen), f"fetching from {place}"))
    except OSError as error:
        raise _store_error(place, error) from None
    meta.setdefault(_FETCHED, {}).update({one.folder: one.url for one in got})
    return got


def url_of(folder: Path) -> str | None:
    """Returns the URL of a folder that was fetched, or None."""
    context = click.get_current_context(silent=True)
    url: str | None = context.meta.get(_FETCHED, {}).get(folder) if context else None
    return url


def require_folder(place: Place, what: str, hint: str) -> Path:
    """Returns a place that is a folder.

    Raises:
        CliError: It is a store; `what` names what the command cannot do there, as "pruned".
    """
    if isinstance(place, Path):
        return place
    raise CliError(f"recordings in {on_one_line(place)} cannot be {what} from here", try_=hint, code=Exit.USAGE)


class Flow(click.ParamType):  # type: ignore[type-arg]  # not generic in old versions of click
    """A recording: a folder's path or URL, `last`, a name or a prefix of one, or a request's id."""

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
            raise CliError(str(error), try_=ctx.meta[_TRY], code=Exit.USAGE) from None

    def of_store(self, place: StoreUrl, word: str | None) -> Entry:
        """Returns the recording that a word selects in a store; without a word, the only one there."""
        try:
            found = _open_store(place).find(word) if word is not None else _only_recording(place, _open_store(place).entries())
        except OSError as error:
            raise _store_error(place, error) from None
        return fetch_recordings(place, [found])[0]

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Completes names, newest first, and `last`. Names that need quoting are left out: the shell inserts them unquoted."""
        place = folder_of(ctx)
        every = entries(place) if isinstance(place, Path) else []  # no network access while the user types
        named = [one for one in every if _HARMLESS.fullmatch(one.name)]
        found = [CompletionItem(one.name, help=visible(f"{one.model} {one.state}")) for one in named]
        last = [CompletionItem("last", help="the newest one")] if found else []
        return [item for item in (*last, *found) if item.value.startswith(incomplete)]


FLOW = Flow()


def has_settings_file() -> bool:
    """Returns whether there is a settings file."""
    return bool(named()[0] or found())


def _only_recording(place: StoreUrl, found: Sequence[Entry]) -> Entry:
    if not found:
        raise NotFound(f"no recording in {on_one_line(place)}")
    if len(found) > 1:
        names = ", ".join(one.name for one in found[:4]) + " …" * (len(found) > 4)
        raise NotFound(f"{place} holds {len(found)} recordings: {names}")
    return found[0]


def _open_store(place: StoreUrl) -> "Store":
    """Returns the store, opened once for each command."""
    from ..recordings.read.store import Store  # noqa: PLC0415  an optional extra

    context = click.get_current_context()
    stores: dict[StoreUrl, Store] = context.meta.setdefault(_STORES, {})
    if place not in stores:
        stores[place] = Store(place, Path(context.with_resource(TemporaryDirectory(prefix="toolmend-flows-"))))
    return stores[place]


def _url(where: str, text: str) -> StoreUrl:
    try:
        return store_url(where, text)
    except MissingPackage as error:
        raise CliError(str(error).rpartition(", do: ")[0], try_=error.install, code=Exit.CONFIGURATION) from None
    except SettingsError as error:
        raise CliError(str(error), try_="toolmend flows --help", code=Exit.USAGE) from None


def _store_error(place: StoreUrl, error: OSError) -> CliError:
    look = LOOK_INTO.get(place.protocol)
    path = place.url.partition("://")[2] if place.protocol in ("file", "local") else place.url
    return CliError(str(error), try_=f"{look} {shlex.quote(path)}" if look else None)


def _default(ctx: click.Context) -> Place:
    try:
        if text := os.environ.get(VARIABLE, "").strip():
            folder, source = recordings_folder(VARIABLE, text), f"variable {VARIABLE}"
        elif not has_settings_file():
            return data_folder() / "flows"
        else:
            from ..config.precedence import everywhere  # noqa: PLC0415  takes 0.1 s

            setting = everywhere({}).given["flows"]
            folder, source = recordings_folder(setting.where, setting.text), setting.origin
    except MissingPackage as error:
        raise CliError(str(error).rpartition(", do: ")[0], try_=error.install, code=Exit.CONFIGURATION) from None
    except SettingsError as error:
        raise settings_error(error) from None
    if folder is None:
        raise CliError(
            f"recordings are switched off by {source}",
            try_=f"{ctx.command_path} --flows FOLDER",
            code=Exit.CONFIGURATION,
        )
    return folder
