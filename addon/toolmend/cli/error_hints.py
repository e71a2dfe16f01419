"""What to try, where several commands fail in the same way.

Rule of this file: a hint is a command that can be pasted.
"""

import shlex
from pathlib import Path

from . import Exit, Problem


def misset(error: Exception, file: str = "") -> Problem:
    """A setting is wrong; `error` says where, and what is right. `file`: the one that the user named."""
    return Problem(str(error), try_=shlex.join(["toolmend", "config", "check", *filter(None, [file])]), code=Exit.CONFIGURATION)


def pasted(*words: str) -> str:
    """A command on one line, for a shell: `$'…'` is what they have for characters that are not shown."""
    return " ".join(shlex.quote(word) if word.isprintable() else f"$'{''.join(map(_escaped, word))}'" for word in words)


def _escaped(char: str) -> str:
    if char.isprintable():
        return f"\\{char}" if char in "'\\" else char
    return "".join(f"\\x{byte:02x}" for byte in char.encode(errors="surrogateescape"))


def look(folder: Path) -> str:
    """Shows whose a folder is that cannot be read or written; or the nearest one that is there."""
    there = next((one for one in (folder, *folder.parents) if one.exists()), folder)
    return shlex.join(["ls", "-ld", str(there)])
