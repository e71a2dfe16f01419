"""Which files the settings are read from, the strongest first.

    toolmend_config, or else TOOLMEND_CONFIG     the file that is named; it stands for both below. "off": none at all
    ./toolmend.toml                              of the folder where the proxy or the command is started
    ~/.config/toolmend/config.toml               the user's own; $XDG_CONFIG_HOME, ~/Library/Application Support on macOS,
                                                 %LOCALAPPDATA% on Windows

A named file stands alone, so that what it says is all there is: a file that is handed on does the same on another machine.

Rule of this file: what lies in a folder was named by nobody. It may have come with a repository that was just cloned, and must
not send a request elsewhere, read a key, have more TLS opened, answer in a provider's place, listen, write or remove files. So
./toolmend.toml may only say what is looked for in an answer, and what becomes of it (keys.HARMLESS); any other key in it is
refused with a sentence that tells how to name the file. What it may say can make an answer worse, as the text of that repository
can, which the model reads; it cannot make it somebody else's.

It imports next to nothing, so that a command finds out whether there are settings without reading them.
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
    """`named`: by what, as an error says it; empty if the file was only found. `trusted`: it may say everything."""

    path: Path
    named: str = ""
    trusted: bool = True


def user_file() -> Path | None:
    """The user's own file, be it there or not; None where no home folder is known."""
    folder = config_folder()
    return folder / USER if folder else None


def named(option: str = "") -> tuple[str, str]:
    """The file that is named, and by what: both are empty if none is."""
    if option.strip():
        return option.strip(), "toolmend_config"
    text = os.environ.get(VARIABLE, "").strip()
    return text, VARIABLE if text else ""


def found() -> tuple[ConfigPlace, ...]:
    """The files that are read where none is named."""
    project = (ConfigPlace(PROJECT, trusted=False),) if os.path.lexists(PROJECT) else ()
    own = user_file()
    return (*project, ConfigPlace(own)) if own and os.path.lexists(own) else project
