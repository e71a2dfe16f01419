"""Which settings files are read, the strongest first.

    toolmend_config, or else TOOLMEND_CONFIG     a named file; it replaces both below. "off": none at all
    ./toolmend.toml                              in the folder where the proxy or the command is started
    ~/.config/toolmend/config.toml               the user's own; $XDG_CONFIG_HOME, ~/Library/Application Support on macOS,
                                                 %LOCALAPPDATA% on Windows

A named file stands alone, so that it has the same effect on another machine.

A ./toolmend.toml that nothing names may come from a repository that was just cloned. It must not redirect a request, read a key,
open more TLS, replay in a provider's place, listen, write or remove files. So it may only decide what is looked for in a response
and what becomes of it (option_names.HARMLESS); any other key in it is refused, with a message that explains how to name the file.
These keys can degrade a response, as the repository's text can, which the model reads; they cannot replace it.

This module imports little, so that a command can find out whether there are settings without reading them.
"""

import os
from pathlib import Path

from ..core.fastclass import value
from .data_folder import config_folder

PROJECT = Path("toolmend.toml")
USER = "config.toml"
VARIABLE = "TOOLMEND_CONFIG"


@value
class ConfigPlace:
    """A file to read. `named`: the option or variable that names it, empty if it was found. `trusted`: it may set every key."""

    path: Path
    named: str = ""
    trusted: bool = True


def user_file() -> Path | None:
    """Returns the path of the user's own file, which may not exist; None if there is no home folder."""
    folder = config_folder()
    return folder / USER if folder else None


def named(option: str = "") -> tuple[str, str]:
    """Returns the named file, and the option or variable that names it; both are empty if none does."""
    if option.strip():
        return option.strip(), "toolmend_config"
    text = os.environ.get(VARIABLE, "").strip()
    return text, VARIABLE if text else ""


def found() -> tuple[ConfigPlace, ...]:
    """Returns the files that are read if none is named."""
    project = (ConfigPlace(PROJECT, trusted=False),) if os.path.lexists(PROJECT) else ()
    own = user_file()
    return (*project, ConfigPlace(own)) if own and os.path.lexists(own) else project
