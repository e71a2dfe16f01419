"""Dialects that are inferred from recordings: what is learnt reads texts that were not seen, and nothing else."""

import json

import pytest

from tests.support.learning import OFFERED, SEEN, WRITERS, Calls
from toolmend.config.dialect_tables import dialects
from toolmend.core.tools import Tools
from toolmend.recordings.learning import NothingLearnt, Sample, learn, played

TOOLS = Tools(OFFERED)


UNSEEN: list[tuple[str, Calls]] = [
    ("", [("bash", {"command": 'echo "a < b" && ls'})]),
    ("Ok.\n", [("get_weather", {"city": "東京", "days": 9}), ("bash", {"command": "{}", "timeout": 1}), ("read_file", {"path": "x y"})]),
]


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_learnt_reads_what_was_not_seen(name: str) -> None:
    write = WRITERS[name]
    fields = learn([Sample(text + write(calls), TOOLS) for text, calls in SEEN], "acme")
    (dialect,) = dialects("learnt", "", [fields])
    for text, calls in UNSEEN:
        found, stays = played(dialect, text + write(calls), TOOLS)
        assert (found, stays.strip()) == (calls, text.strip())
    one = write([("read_file", {"path": "a.md"})])
    for near in (one.replace("read_file", "delete_file"), one[:-1], f"As in `{one}` here.", f"```\n{one}\n```", one.replace("path", "file").replace("PATH", "FILE")):
        assert played(dialect, near, TOOLS) == ([], near)


@pytest.mark.parametrize(
    "text",
    ["Fine, all is done.", "I called read_file with a path.", '**read_file** {"path": "a.md"}', '- read_file {"path": "a.md"}', 'read_file {"path": "a.md"}'],
)
def test_nothing_is_learnt_of_what_is_ambiguous(text: str) -> None:
    with pytest.raises(NothingLearnt):
        learn([Sample(text, TOOLS), Sample(text.replace("a.md", "b.md"), TOOLS)])


def test_an_end_that_is_not_certain_is_not_learnt() -> None:
    lines = "Ok.\n@@tool {}\n{}: {}\nso be it\n"
    texts = [lines.format("read_file", "path", "a.md"), lines.format("bash", "command", "ls")]
    with pytest.raises(NothingLearnt, match="the end of the calls is not clear"):
        learn([Sample(text, TOOLS) for text in texts])
    texts = [f"<<{name}>> {json.dumps(given)} so be it" for _, calls in SEEN[::2] for name, given in calls]
    with pytest.raises(NothingLearnt, match="the same text follows all calls"):
        learn([Sample(text, TOOLS) for text in texts])
