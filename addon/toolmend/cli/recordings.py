"""What all commands that take recordings have in common: the option `--flows`, and the argument FLOW.

    @click.command()                                @click.command()
    @click.argument("flow", type=FLOW)              @click.argument("flows", nargs=-1, type=FLOW)
    @flows_option()                                 @flows_option("root")
    def show(flow: Entry) -> None: ...              def verify(flows: tuple[Entry, ...], root: Path) -> None: ...

Rule of this file: the folder is named in one way for all of them: `--flows`, or else what the settings say. They are imported
only where a file says something: they are slow.
"""

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from ..config.checks import SettingsError
from ..config.config_places import found, named
from ..config.data_folder import data_folder, recordings_folder
from ..recordings.library import Entry, NotFound, entries, find
from . import Exit, Problem
from .hints import misset

_KEY, _TRY = "toolmend.flows", "toolmend.list"
"""Where click's context keeps the folder, and the command that lists what is there."""


VARIABLE = "TOOLMEND_FLOWS"


def flows_option[F: Callable[..., Any]](name: str | None = None) -> Callable[[F], F]:
    """`--flows FOLDER`; a command that asks for it by `name` gets the folder as a Path."""

    def keep(ctx: click.Context, _: click.Parameter, given: Path | None) -> Path:
        ctx.meta[_KEY] = folder = given or _default(ctx)
        ctx.meta[_TRY] = shlex.join(["toolmend", "flows", *(("--flows", str(given)) if given else ())])
        return folder

    return click.option(
        "--flows",
        *filter(None, [name]),
        metavar="FOLDER",
        type=click.Path(file_okay=False, path_type=Path),
        is_eager=True,  # FLOW is looked up in it
        expose_value=name is not None,
        callback=keep,
        help="Where the recordings lie; by default where the settings say: TOOLMEND_FLOWS, a file, the user's data folder.",
    )


def folder_of(ctx: click.Context) -> Path:
    """Where the recordings lie that a command is about."""
    folder: Path = ctx.meta[_KEY]
    return folder


class Flow(click.ParamType):  # type: ignore[type-arg]  # in old versions of click it has none
    """A recording: a folder's path, `last`, or a name or the beginning of one."""

    name = "flow"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Entry:
        if isinstance(value, Entry):
            return value
        assert ctx is not None
        try:
            return find(folder_of(ctx), value)
        except NotFound as error:
            raise Problem(str(error), try_=ctx.meta[_TRY], code=Exit.USAGE) from None

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Names, newest first; `last` is one."""
        found = [CompletionItem(one.name, help=f"{one.model} {one.state}") for one in entries(folder_of(ctx))]
        last = [CompletionItem("last", help="the newest one")] if found else []
        return [item for item in (*last, *found) if item.value.startswith(incomplete)]


FLOW = Flow()


def configured() -> bool:
    """Whether there is a file of settings."""
    return bool(named()[0] or found())


def _default(ctx: click.Context) -> Path:
    try:
        if text := os.environ.get(VARIABLE, "").strip():
            folder, says = recordings_folder(VARIABLE, text), f"variable {VARIABLE}"
        elif not configured():
            return data_folder() / "flows"
        else:
            from ..config.layers import everywhere  # noqa: PLC0415  a tenth of a second

            said = everywhere({}).said["flows"]
            folder, says = recordings_folder(said.where, said.text), said.origin
    except SettingsError as error:
        raise misset(error) from None
    if folder is None:
        raise Problem(
            f"nothing is recorded, says {says}",
            try_=f"{ctx.command_path} --flows FOLDER",
            code=Exit.CONFIGURATION,
        )
    return folder
