"""markdown_context.py: what the text before a place says of it does not depend on the pieces in which it was told."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmend.dialects.engine.markdown_context import MarkdownContext

TEXTS = st.lists(st.sampled_from(["`", "``", "```", "~~~", "~", "\n", " ", "\t", "a", "b c", "\n\n", "\r", ">", "- ", "1", ". "]), max_size=30)


def place_behind(*pieces: str) -> MarkdownContext:
    place = MarkdownContext()
    for piece in pieces:
        place.text(piece)
    return place


def told(place: MarkdownContext) -> tuple[bool, ...]:
    return place.extends_run("`"), place.extends_run("~"), place.in_code, place.in_fence, place.line_start, place.message_start


@given(TEXTS)
def test_pieces_say_what_the_whole_says(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert told(place_behind(*pieces)) == told(place_behind(text)) == told(place_behind(*text))


@given(TEXTS)
def test_lines(pieces: list[str]) -> None:
    """Without backticks and tildes, a line begins where nothing but blanks stand behind its break."""
    text = re.sub("[`~]", "x", "".join(pieces))
    place = place_behind(*re.sub("[`~]", "x", "\0".join(pieces)).split("\0"))
    assert place.line_start == (not text.rpartition("\n")[2].strip())
    assert place.message_start == (not text.strip())


@pytest.mark.parametrize(
    ("text", "in_code", "in_fence"),
    [("a `b", True, False), ("a `b` c", False, False), ("``a` b", True, False), ("a `b\nc", False, False), ("```py\nx", True, True),
     ("```\nx\n```\n", False, False), ("~~~\n```\n", True, True), ("````\n```\n", True, True), (" ```\nx", True, True), ("a ```\nx", False, False),
     ("> ```\n> x", True, True), ("> ```\n> x\n> ```\n", False, False), ("> ```\n> x\ny", False, False), (">> ~~~\n\n", False, False),
     ("> ```\n```\nx", True, True), ("```\n> ```\nx", True, True), ("- ```\n  x", True, True), ("- ```\n  x\n  ```\n", False, False),
     ("12. ```json\nx", True, True), ("> 1) * ```\n> x", True, True), ("1.```\nx", False, False), ("-" * 9 + " ```\nx", False, False),
     ("> " * 17 + "```\nx", False, False),
     # four blanks in front of it
     ("    ```\n", False, False), ("    ```\n    x", True, True), ("- a\n\n    ```sh\n    x\n  ", True, True), ("- a\n\n    ```\n    x\ny", False, False),
     ("- a\n\n    ```\n    x\n    ```\n", False, False), ("\t```\n\tx\n", False, False), ("1. a\n   ```\nx", True, True),
     # one in another
     ("```md\n```sh\nx\n```\n", True, True), ("```md\n```sh\nx\n```\n```\n", False, False), ("````\n```\n````\n", False, False),
     ("```\n    ```\n", True, True), ("```\n    ```\n```\n", False, False), ("```md\n``` sh\n```\n``` \n", False, False),
     ("> ```md\n> ```sh\n> ```\n", True, True), ("```a\n```b\n```c\n```\n```\n", True, True)],
)  # fmt: skip
def test_code(text: str, *, in_code: bool, in_fence: bool) -> None:
    place = place_behind(text)
    assert (place.in_code, place.in_fence) == (in_code, in_fence)
