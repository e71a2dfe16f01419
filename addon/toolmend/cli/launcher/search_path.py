"""PATH without its relative folders, as the current folder may be anybody's.

    PATH=:./node_modules/.bin:/usr/bin:.    →    PATH=/usr/bin    _TOOLMEND_PATH=:./node_modules/.bin:/usr/bin:.

Rule of this file: it imports next to nothing, as every command starts with it.
"""

import os
from collections.abc import MutableMapping
from pathlib import Path

TAKEN = "_TOOLMEND_"
"""What stands before the name of a variable that the launcher (setup.sh) or `absolute_path` has changed: _TOOLMEND_PYTHONPATH."""


def absolute_path(environ: MutableMapping[str, str]) -> None:
    """Removes the relative folders from PATH: the current folder may be anybody's. `handed_back` returns it as it was.

    An empty entry is the current folder, and so is an empty PATH; without PATH the system's own folders are searched.
    """
    given = environ.get("PATH")
    if given is None or given == (kept := without_relative(given)):
        return
    environ.setdefault(f"{TAKEN}PATH", given)
    environ["PATH"] = kept


def without_relative(path: str) -> str:
    """The absolute folders of a PATH; the system's own if there is none."""
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if Path(folder).is_absolute()) or os.defpath
