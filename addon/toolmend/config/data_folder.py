"""The user's folders for data and settings, as platformdirs has them; mitmproxy's standalone binaries lack that package.

This module imports little, so that a command finds the recordings without reading all settings.
"""

import json
import os
import sys
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

from .checks import SettingsError
from .store_url import StoreUrl, is_url, store_url

_NO_FOLDER = frozenset({"0", "1", "auto", "disabled", "enabled", "false", "no", "none", "on", "true", "yes"})


def data_folder() -> Path:
    """Returns the folder, which may not exist. Raises SettingsError if there is no home folder."""
    if folder := _folder("XDG_DATA_HOME", ".local/share"):
        return folder
    raise SettingsError(
        "toolmend_flows: no home folder is known to keep recordings in, set toolmend_flows to a folder, or to off"
    )


def config_folder() -> Path | None:
    """Returns the folder of the settings, which may not exist; None if there is no home folder."""
    return _folder("XDG_CONFIG_HOME", ".config")


def _folder(variable: str, usual: str) -> Path | None:
    xdg = Path(os.environ.get(variable, "").strip())
    if xdg.is_absolute() and sys.platform != "win32":
        return xdg / "toolmend"
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "toolmend"
    return home / ("Library/Application Support" if sys.platform == "darwin" else usual) / "toolmend"


def private(folder: Path) -> None:
    """Creates a folder and its missing parents for the user alone."""
    for missing in reversed([*takewhile(lambda path: not path.exists(), (folder, *folder.parents))]):
        with suppress(FileExistsError):  # another process was faster
            missing.mkdir(0o700)
            missing.chmod(0o700)  # the umask may have removed bits


def on_one_line(path: Path | StoreUrl | str) -> str:
    r"""Returns a path on one line: verbatim, or as JSON if it has unprintable characters: `"/home/me\nyou/flows"`."""
    text = str(path)
    return text if text.isprintable() and not text.startswith('"') else json.dumps(text)


def from_one_line(text: str) -> str:
    """Returns the path that `on_one_line` wrote."""
    try:
        path = json.loads(text) if text.startswith('"') else text
    except ValueError:  # not written by on_one_line
        return text
    return path if isinstance(path, str) else text


def expand(where: str, text: str) -> Path:
    """Returns the path that the user wrote. Raises SettingsError."""
    if "\0" in text:
        raise SettingsError(f"{where}: {text!r} contains a NUL character, write a path without it")
    try:
        return Path(text).expanduser()
    except RuntimeError:  # ~nobody
        raise SettingsError(f"{where}: the home folder in {text!r} is not known, write the whole path") from None


def recordings_folder(where: str, text: str) -> Path | StoreUrl | None:
    """Returns the folder or store of recordings; None for `off`. Raises SettingsError."""
    if text.lower() == "off":
        return None
    if is_url(text):
        return store_url(where, text)
    if text.lower() in _NO_FOLDER:
        right = f"write off, or ./{text} for a folder of that name"
        raise SettingsError(f"{where}: {text!r} is neither off nor a folder, {right}")
    folder = expand(where, text) if text else data_folder() / "flows"
    try:
        is_file = folder.exists() and not folder.is_dir()
    except OSError as error:  # the system does not allow such a name
        raise SettingsError(f"{where}: {text[:100]!r} … {error.strerror or error}, write the name of a folder, or off") from None
    if is_file:
        raise SettingsError(f"{where}: {text!r} is a file, write the name of a folder, or off")
    return folder
