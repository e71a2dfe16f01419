"""The lists and the search of the pages, in SQLite: a cache of the folder, which is rebuilt if it is deleted.

    index.put(rows)                     recordings, new or changed             index.put_parts(row, whole)    their parts
    index.rows(q="kimi", state="…")     pages of 200, newest first             index.sessions(…)
    index.search("a phrase")            each part that contains it, once

SQL never contains recorded text, only parameters. One thread uses the index.
"""

import json
import os
import sqlite3
import sys
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import crc32

from ...config.data_folder import private
from . import prices
from .reading import ANSWER, ROW, RecordingParts, Row

LAYOUT = 6
"""The version of the tables below. An index with another version, or made with other prices, is rebuilt."""

PAGE = 200
"""Rows in one response, at most."""

CONTEXT_CHARS = 80
"""Characters shown on each side of a match."""

_TABLES = f"""
CREATE TABLE recording (id INTEGER PRIMARY KEY, {", ".join(f"{name} {kind}" for name, kind in ROW.items())});
CREATE INDEX recording_at ON recording (at DESC, id DESC);
CREATE INDEX recording_session ON recording (session, at);
CREATE INDEX recording_tip ON recording (tip);
CREATE INDEX recording_whole ON recording (whole, live, at DESC);
CREATE TABLE part (id INTEGER PRIMARY KEY, hash TEXT UNIQUE, kind TEXT, role TEXT, cls TEXT, value TEXT, text TEXT, size INTEGER);
CREATE TABLE uses (recording INTEGER, at INTEGER, part INTEGER, PRIMARY KEY (recording, at)) WITHOUT ROWID;
CREATE INDEX part_cls ON part (cls);
CREATE INDEX uses_part ON uses (part);
CREATE VIRTUAL TABLE words USING fts5 (text, content='', tokenize='trigram');
"""

_TITLED = """SELECT title, agent, model FROM recording WHERE session = ? AND title != ''
    ORDER BY sub != '', tools > 0 DESC, at LIMIT 1"""
"""A session's title: the first request of the main agent with tools."""

_LIKE = ("name", "agent", "host", "model", "title", "said", "calls", "rules", "error", "route")
"""Columns that a filter's words are searched in."""


def cache_file(root: Path) -> Path:
    """Returns the path of a folder's index."""
    base = Path(os.environ.get("XDG_CACHE_HOME", "").strip() or Path.home() / ".cache")
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    return base / "toolmend" / f"ui-{sha256(str(root.resolve()).encode()).hexdigest()[:16]}.sqlite3"


class Index:
    """The index of a folder. `path` None: in memory."""

    def __init__(self, path: Path | None) -> None:
        self._db = self._open(path)

    def _open(self, path: Path | None) -> sqlite3.Connection:
        if path is None:
            return _prepare(sqlite3.connect(":memory:"))
        try:
            private(path.parent)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
            db = sqlite3.connect(path, timeout=5)
            try:
                return _prepare(db)
            except sqlite3.DatabaseError:  # damaged, or of another version
                db.close()
                for name in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
                    name.unlink(missing_ok=True)
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
                return _prepare(sqlite3.connect(path, timeout=5))
        except (OSError, RuntimeError, sqlite3.Error):
            return _prepare(sqlite3.connect(":memory:"))

    def close(self) -> None:
        self._db.close()

    # writing

    def modification_times(self) -> dict[str, float]:
        """Returns the modification time of each recording's meta.json by path; 0 for live ones, which are read again."""
        rows = self._db.execute("SELECT path, changed, live FROM recording")
        return {path: 0.0 if live else changed for path, changed, live in rows}

    def put(self, rows: Iterable[Row]) -> None:
        """Inserts new or changed recordings. Their parts are kept as long as they are unchanged."""
        names = [name for name in ROW if name != "path"]
        sql = (
            f"INSERT INTO recording ({', '.join(ROW)}) VALUES ({', '.join(f':{name}' for name in ROW)}) "  # noqa: S608
            f"ON CONFLICT (path) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in names)}"
        )
        with self._db:
            self._db.executemany(sql, map(_valid_texts, rows))

    def put_parts(self, row: Row, whole: RecordingParts) -> Row:
        """Stores the parts of a recording; returns its row with the columns that they fill."""
        columns = _valid_texts(whole.columns)
        with self._db:
            if row["tip"]:
                columns["session"] = self._session_by_tip(row, whole.tips)
            self._db.execute("DELETE FROM uses WHERE recording = ?", (row["id"],))
            for at, part in whole.parts:
                self._db.execute("INSERT OR REPLACE INTO uses VALUES (?, ?, ?)", (row["id"], at, self._part(part)))
            changes = ", ".join(f"{name} = ?" for name in columns)
            self._db.execute(f"UPDATE recording SET {changes} WHERE id = ?", (*columns.values(), row["id"]))  # noqa: S608
        return row | columns

    def _part(self, part: Any) -> int:
        key = part.hash
        if found := self._db.execute("SELECT id FROM part WHERE hash = ?", (key,)).fetchone():
            return int(found[0])
        text = part.text.encode(errors="replace").decode()
        value = json.dumps(part.value)
        size = len(part.text.encode(errors="replace"))
        cursor = self._db.execute(
            "INSERT INTO part (hash, kind, role, cls, value, text, size) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (key, part.kind, part.role, part.cls, value, text, size),
        )
        self._db.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (cursor.lastrowid, text))
        return int(cursor.lastrowid or 0)

    def _session_by_tip(self, row: Row, tips: Sequence[str]) -> str:
        """Returns the session of the latest recording whose conversation this one continues; else its own name."""
        for at in range(0, len(tips), 500):
            some = tips[::-1][at : at + 500]
            marks = ",".join("?" * len(some))
            sql = f"SELECT session FROM recording WHERE tip IN ({marks}) AND at < ? ORDER BY at DESC LIMIT 1"  # noqa: S608
            if found := self._db.execute(sql, (*some, row["at"])).fetchone():
                return str(found[0])
        return str(row["name"])

    def delete_paths(self, paths: Iterable[str]) -> None:
        with self._db:
            for path in paths:
                self._db.execute("DELETE FROM uses WHERE recording IN (SELECT id FROM recording WHERE path = ?)", (path,))
                self._db.execute("DELETE FROM recording WHERE path = ?", (path,))

    # reading

    def _select(self, sql: str, *values: Any) -> list[Row]:
        cursor = self._db.execute(sql, values)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, values, strict=True)) for values in cursor]

    def count(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM recording").fetchone()[0])

    def count_unread(self) -> int:
        """Returns how many recordings' parts have not been read yet."""
        return int(self._db.execute("SELECT count(*) FROM recording WHERE whole = 0 AND live = 0").fetchone()[0])

    def next_unread(self) -> Row | None:
        """Returns the newest finished recording whose parts have not been read; without a session id, the oldest first."""
        found = self._select("SELECT * FROM recording WHERE whole = 0 AND live = 0 AND tip != '?' ORDER BY at DESC LIMIT 1")
        found = found or self._select("SELECT * FROM recording WHERE whole = 0 AND live = 0 ORDER BY at LIMIT 1")
        return found[0] if found else None

    def live(self) -> list[Row]:
        return self._select("SELECT * FROM recording WHERE live = 1")

    def row(self, key: int) -> Row | None:
        found = self._select("SELECT * FROM recording WHERE id = ?", key)
        return found[0] if found else None

    def by_path(self, path: str) -> Row | None:
        found = self._select("SELECT * FROM recording WHERE path = ?", path)
        return found[0] if found else None

    def by_name(self, name: str) -> Row | None:
        found = self._select("SELECT * FROM recording WHERE name = ? ORDER BY at DESC LIMIT 1", name)
        return found[0] if found else None

    def rows(self, before: str = "", limit: int = PAGE, **filters: str) -> list[Row]:
        """Returns a page of rows, newest first; `before` is "at,id" of the last row of the page before."""
        where, values = _where(filters)
        if before:
            at, _, key = before.partition(",")
            where.append("(at, id) < (?, ?)")
            values += [float(at), int(key)]
        clause = f"WHERE {' AND '.join(where)}" if where else ""
        sql = f"SELECT * FROM recording {clause} ORDER BY at DESC, id DESC LIMIT ?"  # noqa: S608  fixed clauses
        return self._select(sql, *values, max(1, min(limit, PAGE)))

    def sessions(self, before: str = "", limit: int = PAGE, session: str = "", **filters: str) -> list[Row]:
        """Returns sessions, the latest active first; with filters, those with a matching recording."""
        where, values = _where(filters)
        if session:
            where.append("session = ?")
            values.append(session)
        inner = f"SELECT session FROM recording WHERE {' AND '.join(where)}"  # noqa: S608  fixed clauses
        clause = f"WHERE session IN ({inner})" if where else ""
        paths_with = ""
        if before:
            paths_with = "HAVING max(at) < ?"
            values.append(float(before))
        sql = f"""
            SELECT session, min(at) AS at, max(at) AS latest,
                max(at + coalesce(wait, waited, 0) / 1000 + coalesce(last, 0) / 1000) AS until,
                count(*) AS requests, count(DISTINCT nullif(sub, '')) AS subagents, max(live) AS live,
                sum(coalesce(tokens_in, 0)) AS tokens_in, sum(coalesce(tokens_out, 0)) AS tokens_out,
                sum(coalesce(cached, 0)) AS cached, sum(coalesce(cache_write, 0)) AS cache_write, sum(cost) AS cost,
                sum(cost IS NULL AND tokens_out IS NOT NULL) AS unpriced,
                sum(rules != '') AS mended, sum(suspect != '') AS suspects, sum(state = 'unanswered') AS unanswered,
                sum(state IN ('upstream_error', 'unreadable') OR status >= 400) AS failed,
                sum(state = 'client_closed') AS interrupted, sum(state IN ('partial', 'waiting') AND NOT live) AS cut,
                max(pinned) AS pinned, group_concat(DISTINCT nullif(agent, '')) AS agents,
                group_concat(DISTINCT nullif(model, '')) AS models
            FROM recording {clause} GROUP BY session {paths_with} ORDER BY live DESC, latest DESC LIMIT ?"""  # noqa: S608
        found = self._select(sql, *values, max(1, min(limit, PAGE)))
        for one in found:
            for title in self._select(_TITLED, one["session"]):
                one |= {"title": title["title"], "agent": title["agent"], "model": title["model"]}
            rules = self._db.execute("SELECT DISTINCT rules FROM recording WHERE session = ? AND rules != ''", (one["session"],))
            one["rules"] = list(dict.fromkeys(name for (text,) in rules for name in text.split()))
        return found

    def of_session(self, session: str) -> list[Row]:
        """Returns all recordings of a session, oldest first."""
        return self._select("SELECT * FROM recording WHERE session = ? ORDER BY at, id", session)

    def firsts(self, session: str, since: float = 0.0) -> list[Row]:
        """Returns the parts of a session since a time, each where it first occurs in its lane (main agent or subagent)."""
        sql = """
            SELECT recording.sub AS sub, recording.id AS recording, min(recording.at) AS asked, uses.at AS place, part.id AS part,
                part.kind AS kind, part.role AS role, part.cls AS cls, part.value AS value, part.size AS size
            FROM recording JOIN uses ON uses.recording = recording.id JOIN part ON part.id = uses.part
            WHERE recording.session = ? GROUP BY recording.sub, part.id HAVING asked >= ? ORDER BY asked, place"""
        return self._select(sql, session, since)

    def parts(self, recording: int) -> list[Row]:
        """Returns the parts of a request in order, then the answer."""
        sql = """
            SELECT uses.at AS place, part.id AS part, part.hash AS hash, kind, role, cls, value, size
            FROM uses JOIN part ON part.id = uses.part WHERE recording = ? ORDER BY uses.at"""
        return self._select(sql, recording)

    def answer(self, recording: int) -> dict[str, Any] | None:
        """Returns the folded answer, or None."""
        sql = "SELECT value FROM uses JOIN part ON part.id = uses.part WHERE recording = ? AND at = ?"
        found = self._db.execute(sql, (recording, ANSWER)).fetchone()
        return json.loads(found[0]) if found else None

    def before(self, row: Row) -> Row | None:
        """Returns the recording before this one in the same lane, or None."""
        sql = """SELECT * FROM recording WHERE session = ? AND sub = ? AND (at, id) < (?, ?) AND kind = ?
            ORDER BY at DESC, id DESC LIMIT 20"""
        found = self._select(sql, row["session"], row["sub"], row["at"], row["id"], row["kind"])
        same = [one for one in found if one["model"] == row["model"] and (one["tools"] > 0) == (row["tools"] > 0)]
        return next(iter(same or found), None)

    def after(self, row: Row) -> Row | None:
        """Returns the recording after this one in the same lane, or None."""
        sql = "SELECT * FROM recording WHERE session = ? AND sub = ? AND (at, id) > (?, ?) ORDER BY at, id LIMIT 1"
        found = self._select(sql, row["session"], row["sub"], row["at"], row["id"])
        return found[0] if found else None

    def prompts(self) -> list[Row]:
        """Returns the versions of system prompts and tool lists."""
        sql = """
            SELECT part.id AS part, part.kind AS kind, part.role AS role, part.size AS size, count(*) AS uses,
                min(recording.at) AS first, max(recording.at) AS latest,
                group_concat(DISTINCT recording.agent) AS agents, group_concat(DISTINCT recording.model) AS models,
                substr(text, 1, 160) AS head
            FROM part JOIN uses ON uses.part = part.id JOIN recording ON recording.id = uses.recording
            WHERE part.cls IN ('system', 'tools') AND part.size > 40 GROUP BY part.id
            ORDER BY part.kind = 'tools', latest DESC LIMIT 400"""
        return self._select(sql)

    def part(self, key: int) -> Row | None:
        found = self._select("SELECT id AS part, kind, role, cls, value, size FROM part WHERE id = ?", key)
        return found[0] if found else None

    def paths_with(self, key: int, limit: int = 5) -> list[str]:
        """Returns the folders of the latest recordings that have a part."""
        sql = """SELECT path FROM uses JOIN recording ON recording.id = uses.recording
            WHERE part = ? ORDER BY recording.at DESC LIMIT ?"""
        return [str(path) for (path,) in self._db.execute(sql, (key, limit))]

    def search(self, text: str, limit: int = 60) -> list[Row]:
        """Returns the parts that contain a text, each with the recording that had it first."""
        if len(text) >= 3:
            where, values = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?", [_phrase(text), limit]
        else:
            where, values = "SELECT id FROM part WHERE text LIKE ? ESCAPE '\\' ORDER BY id DESC LIMIT ?", [_like(text), limit]
        sql = f"""
            SELECT part.id AS part, kind, role, part.text AS text, min(uses.recording) AS recording
            FROM part JOIN uses ON uses.part = part.id WHERE part.id IN ({where})
            GROUP BY part.id ORDER BY part.id DESC"""  # noqa: S608  fixed clauses
        hits = []
        for hit in self._select(sql, *values):
            whole = hit.pop("text")
            at = max(0, whole.lower().find(text.lower()))
            row = self.row(hit["recording"])
            if row:
                hit |= {name: row[name] for name in ("name", "session", "sub", "agent", "model", "at", "title")}
                end = at + len(text)
                hits.append(
                    hit | {"around": (whole[max(0, at - CONTEXT_CHARS) : at], whole[at:end], whole[end : end + CONTEXT_CHARS])}
                )
        return sorted(hits, key=lambda hit: -hit["at"])

    def facets(self) -> dict[str, list[str]]:
        """Returns the values that can be filtered by."""
        found = {}
        for name in ("agent", "model", "state", "host"):
            sql = f"SELECT {name} FROM recording WHERE {name} != '' GROUP BY {name} ORDER BY count(*) DESC LIMIT 50"  # noqa: S608
            found[name] = [str(value) for (value,) in self._db.execute(sql)]
        rules = self._db.execute("SELECT DISTINCT rules FROM recording WHERE rules != ''")
        return found | {"rule": sorted({name for (text,) in rules for name in text.split()})}


def _prepare(db: sqlite3.Connection) -> sqlite3.Connection:
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = OFF")
    (version,) = db.execute("PRAGMA user_version").fetchone()
    expected = _version()
    if version != expected:
        if version or db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise sqlite3.DatabaseError("of another version")
        db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {expected}; COMMIT;")
    return db


def _version() -> int:
    """Returns a number of 31 bits for the layout and the prices that the index's costs were computed with."""
    return crc32(f"{LAYOUT} {prices.price_table()} {prices.user_prices()}".encode()) >> 1 | 1


def _valid_texts(row: Row) -> Row:
    """Returns a row without lone surrogates, which JSON may contain and SQLite rejects."""
    return {name: value.encode(errors="replace").decode() if isinstance(value, str) else value for name, value in row.items()}


def _like(text: str) -> str:
    for mark in ("\\", "%", "_"):
        text = text.replace(mark, f"\\{mark}")
    return f"%{text}%"


def _phrase(text: str) -> str:
    """Returns a text as one phrase of FTS5, whatever it contains."""
    return '"' + text.replace('"', '""').replace("\0", "") + '"'


_STATES = {
    "live": "live = 1",
    "failed": "(state IN ('upstream_error', 'unreadable') OR status >= 400)",
    "mended": "rules != ''",
    "suspect": "suspect != ''",
    "stalled": "(gap >= 15000 OR waited >= 15000 OR wait >= 15000)",
    "cut": "(state IN ('partial', 'waiting') AND NOT live)",
    "pinned": "pinned = 1",
}
"""Filters in addition to the states of meta.json."""


def _where(filters: dict[str, str]) -> tuple[list[str], list[Any]]:
    where: list[str] = []
    values: list[Any] = []
    for word in filters.get("q", "").split():
        where.append("(" + " OR ".join(f"{name} LIKE ? ESCAPE '\\'" for name in _LIKE) + ")")
        values += [_like(word)] * len(_LIKE)
    for name in ("agent", "model", "host", "session"):
        if value := filters.get(name):
            where.append(f"{name} = ?")
            values.append(value)
    if rule := filters.get("rule"):
        where.append("' ' || rules || ' ' LIKE ? ESCAPE '\\'")
        values.append(_like(f" {rule} "))
    if state := filters.get("state"):
        if state in _STATES:
            where.append(_STATES[state])
        else:
            where.append("state = ?")
            values.append(state)
    return where, values
