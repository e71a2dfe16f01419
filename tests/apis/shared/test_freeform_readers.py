"""freeform_readers.py: what is around a patch or a script is taken off, in every piece."""

import json

import pytest

from toolmend.apis.shared.freeform_readers import PatchReader, ScriptReader, patch_in

BODY = '*** Begin Patch\n*** Add File: a\n+print("é \\n 🙂")\n*** End Patch'
HEREDOC = f"apply_patch <<'EOF'\n{BODY}\nEOF"

TAKEN = {
    BODY: BODY,
    f"\n\n{BODY}\n": f"\n\n{BODY}\n",
    json.dumps({"input": BODY}): BODY,
    json.dumps({"patch": BODY}): BODY,
    json.dumps({"diff": f"\n{BODY}"}, indent=1): f"\n{BODY}",
    json.dumps({"why": "x", "input": BODY}): BODY,
    json.dumps({"command": ["apply_patch", BODY]}): BODY,
    json.dumps(["apply_patch", BODY]): BODY,
    json.dumps({"command": ["bash", "-lc", HEREDOC]}): BODY,
    json.dumps({"input": json.dumps({"patch": BODY})}): BODY,
    json.dumps({"input": f"```diff\n{BODY}\n```"}): BODY,
    f"```\n{BODY}\n```": BODY,
    HEREDOC: BODY,
    f"<<EOF\n{BODY}\nEOF": BODY,
    # is no patch, or has prose around it
    "": "",
    "ls": "ls",
    json.dumps({"input": "ls"}): "ls",
    json.dumps({"patch": "ls"}): json.dumps({"patch": "ls"}),
    f"Here it is:\n```\n{BODY}\n```": f"Here it is:\n```\n{BODY}\n```",
    '{"patch":7}': '{"patch":7}',
    '{"input":"*** Begin Patch\n+a "quote" b': '*** Begin Patch\n+a "quote" b',
}

SCRIPTS = {
    "text(1)": "text(1)",
    json.dumps({"code": "text(1)"}): "text(1)",
    json.dumps({"input": "text(1)"}): "text(1)",
    "{ const a = 1; text(a) }": "{ const a = 1; text(a) }",
    json.dumps({"path": "x"}): json.dumps({"path": "x"}),
    "": "",
}


@pytest.mark.parametrize(("made", "cases"), [(PatchReader, TAKEN), (ScriptReader, SCRIPTS)])
def test_what_is_taken_off(made: type[PatchReader | ScriptReader], cases: dict[str, str]) -> None:
    for text, expected in cases.items():
        for size in (len(text) or 1, 1, 7):
            reader = made()
            pieces = [reader.feed(text[at : at + size]) for at in range(0, len(text), size)]
            assert "".join(pieces) + reader.end() == expected, text


def test_a_patch_is_sent_live() -> None:
    for head in ("", '{"patch":"'):
        reader = PatchReader()
        assert reader.feed(head + "*** Begin Patch") == "*** Begin Patch"


def test_what_is_no_wrapper() -> None:
    assert patch_in(json.dumps({"a": {"b": BODY}})) is None
    assert patch_in("```\nls\n```") is None
