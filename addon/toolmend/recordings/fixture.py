"""The files of a fixture that the mending of today decides, and how files come to lie in a folder: all of them, or none.

    golden(recording)         what the client gets today, the rules that fired, the ids that were used
    files(recording, kept)    client.sse, message.json and meta.json, for the files that stay as they are
    create(folder, files)     a new folder                 replace(folder, files)     some files of one that is there
    home()                    where fixtures lie

Rule of this file: whoever looks at a fixture, at any moment, sees the old one or the new one.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from io import BytesIO
from itertools import chain
from pathlib import Path
from secrets import token_hex

from .. import __version__, json_text
from ..config.data_folder import private
from ..ids import new_call_id
from ..replay import Recording, replay
from ..value import replace as with_fields
from . import written_file
from .folder import FORMAT
from .message_json import message_of


class _Ids:
    """The recorded ids, and new ones behind them; `taken` has those that were used."""

    def __init__(self, recorded: Sequence[str]) -> None:
        self.taken: list[str] = []
        self._ids = chain(recorded, iter(new_call_id, None))

    def __iter__(self) -> Iterator[str]:
        for id_ in self._ids:
            self.taken.append(id_)
            yield id_


_CASE = re.compile(r"(?:([a-z0-9_][a-z0-9_.-]*)/)?([a-z0-9_][a-z0-9_.-]*)")


def place(case: str, provider: str) -> Path:
    """Where a case goes below the fixtures: <provider>/<case>; the case may name its provider. Raises ValueError."""
    found = _CASE.fullmatch(case)
    if not found:
        raise ValueError(f"{case!r} is no name of a case, write small letters, digits, `-`, `_` and `.`, with one `/` at most")
    return Path(found[1] or re.sub(r"[^a-z0-9]+", "_", provider.lower()).strip("_") or "unknown") / found[2]


def home() -> Path:
    """Where fixtures lie: `flows` of the checkout that we run from, or else of the folder where we are."""
    checkout = Path(__file__).parents[3]
    return (checkout if (checkout / "pyproject.toml").is_file() else Path()) / "flows"


def golden(recording: Recording) -> tuple[bytes, list[str], list[str]]:
    """What the client gets today, the rules that fired, and the ids that were used."""
    ids = _Ids(recording.meta.get("ids", ()))
    client, rules = replay(with_fields(recording, meta={**recording.meta, "ids": ids}))
    return client, rules, ids.taken


def files(recording: Recording, kept: Mapping[str, bytes]) -> dict[str, bytes]:
    """What is made anew, by its name; `kept` are the files beside it."""
    client, rules, ids = golden(recording)
    stream = (recording.folder / "client.sse").exists()
    made = {f"client.{'sse' if stream else 'json'}": client}
    meta = recording.meta
    message = message_of(meta.get("client_api") or meta["api"], BytesIO(client), stream=stream)
    if message is not None:
        made["message.json"] = json_text.lines(message)
    sums = {name: sha256(data).hexdigest() for name, data in sorted({**kept, **made}.items()) if name != "meta.json"}
    known = {"format": FORMAT, "toolmend": __version__, "rules": rules, "ids": ids, "sha256": sums}
    return made | {"meta.json": json_text.lines({**meta, **known})}


def create(folder: Path, made: Mapping[str, bytes]) -> None:
    """A new folder with files. Raises FileExistsError if there is one already; then, and if it fails, nothing is changed."""
    if folder.exists() or folder.is_symlink():
        raise FileExistsError(f"{folder} exists")
    missing = [parent for parent in folder.parents if not parent.exists()]
    private(folder.parent)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for name, data in made.items():
            written_file.create(scratch / name, data)
        scratch.rename(folder)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        for parent in missing:
            with suppress(OSError):
                parent.rmdir()
        raise


def replace(folder: Path, made: Mapping[str, bytes]) -> None:
    """Some files of a folder, meta.json last: its sums tell whether all of them are there."""
    for name, data in sorted(made.items(), key=lambda item: item[0] == "meta.json"):
        new = folder / f".{name}.{token_hex(4)}"
        try:
            written_file.create(new, data)
            with suppress(FileNotFoundError):
                shutil.copymode(folder / name, new)
            new.replace(folder / name)
        except BaseException:
            new.unlink(missing_ok=True)
            raise
