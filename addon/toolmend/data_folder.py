"""Where this user's programs keep data: what platformdirs says, which mitmproxy's standalone binaries lack.

Rule of this file: it imports next to nothing, so that a command finds the recordings without reading all settings.
"""

import os
import sys
from pathlib import Path

from .checks import SettingsError


def data_folder() -> Path:
    """The folder, be it there or not. Raises SettingsError where no home folder is known."""
    xdg = Path(os.environ.get("XDG_DATA_HOME", "").strip())
    if xdg.is_absolute() and sys.platform != "win32":
        return xdg / "toolmend"
    try:
        home = Path.home()
    except RuntimeError:
        raise SettingsError(
            "toolmend_flows: no home folder is known to keep recordings in, set toolmend_flows to a folder, or to off"
        ) from None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "toolmend"
    return home / ("Library/Application Support" if sys.platform == "darwin" else ".local/share") / "toolmend"
