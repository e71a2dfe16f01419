"""Hints that several commands share: each is a command to paste."""

import shlex
from pathlib import Path

from . import CliError, Exit


def settings_error(error: Exception, file: str = "") -> CliError:
    """Returns the error for a wrong setting; `error` names the place and the remedy, `file` is the file the user named."""
    return CliError(str(error), try_=shlex.join(["toolmend", "config", "check", *filter(None, [file])]), code=Exit.CONFIGURATION)


def shell_line(*words: str) -> str:
    """Returns a command line for a shell; characters that cannot be shown are written as `$'…'`."""
    return " ".join(shlex.quote(word) if word.isprintable() else f"$'{''.join(map(_escaped, word))}'" for word in words)


def _escaped(char: str) -> str:
    if char.isprintable():
        return f"\\{char}" if char in "'\\" else char
    return "".join(f"\\x{byte:02x}" for byte in char.encode(errors="surrogateescape"))


def ls_command(folder: Path) -> str:
    """Returns the command that shows the owner of a folder that cannot be accessed, or of its nearest existing parent."""
    there = next((one for one in (folder, *folder.parents) if one.exists()), folder)
    return shlex.join(["ls", "-ld", str(there)])
