"""PATH without its relative folders, since others may be able to write to the current folder.

    PATH=:./node_modules/.bin:/usr/bin:.    →    PATH=/usr/bin    _TOOLMEND_PATH=:./node_modules/.bin:/usr/bin:.

It imports next to nothing, because every command starts with it.
"""

import os
from collections.abc import MutableMapping
from pathlib import Path

SAVED_PREFIX = "_TOOLMEND_"
"""Prefix of the saved value of a variable that the launcher (setup.sh) or `absolute_path` changed: _TOOLMEND_PYTHONPATH."""


def absolute_path(environ: MutableMapping[str, str]) -> None:
    """Removes the relative folders from PATH. `environment.restored` restores it.

    An empty entry means the current folder, and so does an empty PATH; without PATH the system's default is searched.
    """
    given = environ.get("PATH")
    if given is None or given == (cleaned := without_relative(given)):
        return
    environ.setdefault(f"{SAVED_PREFIX}PATH", given)
    environ["PATH"] = cleaned


def without_relative(path: str) -> str:
    """Returns the absolute folders of a PATH; the system's default if there are none."""
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if Path(folder).is_absolute()) or os.defpath
