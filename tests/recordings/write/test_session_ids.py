"""Which session a request is of."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent_requests import CLAUDE_CODE
from toolmend.recordings.write import session_ids
from toolmend.recordings.write.session_ids import KEY, kept, own_key, session_of

ID = "0b0e7f2c-5a51-4c65-9d1d-2f0f5f1a9a11"
CODEX = {"session_id": ID, "thread_id": ID, "agent_name": "/root", "turn_id": "t1", "request_kind": "turn"}
SESSION_KEY = f"session_{ID}"
CASES: dict[str, tuple[dict[str, str], dict[str, Any] | None, dict[str, str]]] = {
    "claude": ({"X-Claude-Code-Session-Id": ID}, CLAUDE_CODE, {"id": ID, "from": "x-claude-code-session-id"}),
    "claude, a subagent": ({"x-claude-code-session-id": ID, "x-claude-code-agent-id": "a1", "x-claude-code-parent-agent-id": "a0"}, None, {"id": ID, "agent": "a1", "parent": "a0", "from": "x-claude-code-session-id"}),
    "claude, its body alone": ({}, CLAUDE_CODE, {"id": ID, "from": "session_id"}),
    "codex": ({"x-codex-turn-metadata": json.dumps(CODEX)}, None, {"id": ID, "turn": "t1", "name": "/root", "kind": "turn", "from": "x-codex-turn-metadata"}),
    "codex, a subagent": ({"x-codex-turn-metadata": json.dumps(CODEX | {"thread_id": "t2", "agent_name": "/root/look"})}, None, {"id": ID, "agent": "t2", "turn": "t1", "name": "/root/look", "kind": "turn", "from": "x-codex-turn-metadata"}),
    "codex, on a socket": ({}, {"client_metadata": {"x-codex-turn-metadata": json.dumps(CODEX)}, "prompt_cache_key": "k"}, {"id": ID, "turn": "t1", "name": "/root", "kind": "turn", "from": "session_id"}),
    "opencode": ({"x-session-id": "ses_1"}, None, {"id": "ses_1", "from": "x-session-id"}),
    "kimi": ({}, {"prompt_cache_key": SESSION_KEY}, {"id": SESSION_KEY, "from": "prompt_cache_key"}),
    "qwen": ({}, {"metadata": {"sessionId": ID, "promptId": "p1"}}, {"id": ID, "turn": "p1", "from": "sessionId"}),
    "a cache key that all share": ({}, {"prompt_cache_key": "my-app-v1"}, {}),
    "nothing": ({"user-agent": "x"}, {"metadata": "x", "client_metadata": {"x-codex-turn-metadata": "{"}}, {}),
    "what is no id": ({"x-session-id": "x" * 600}, {"metadata": {"sessionId": ["x"]}}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_a_request_says_of_its_session(name: str) -> None:
    headers, request, expected = CASES[name]
    assert session_of(headers.items(), request) == expected


def test_no_id_is_kept_but_equal_ones_are_equal() -> None:
    one, other = kept({"id": ID, "agent": "a1", "from": "x"}, b"k"), kept({"id": ID, "agent": "a2", "from": "x"}, b"k")
    assert one["id"] == other["id"] != kept({"id": ID}, b"other")["id"]
    assert one["agent"] != other["agent"]
    assert (len(one["id"]), one["from"]) == (24, "x")
    assert ID not in json.dumps(one)


def test_the_key_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    own_key.cache_clear()
    key = own_key()
    own_key.cache_clear()
    path = tmp_path / "toolmend" / KEY
    assert key == own_key() == path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_bytes(b"torn")
    own_key.cache_clear()
    assert len(own_key()) == session_ids.KEY_SIZE
    own_key.cache_clear()
