"""opener_index.py: an opener that begins with a letter is looked for where a word can begin, however the text is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.streams import WEATHER, stream
from toolmend.core.literal_search import SHORT
from toolmend.core.tools import Tools
from toolmend.dialects.engine.opener_index import opener_index
from toolmend.dialects.families.gemma import GEMMA_HEADLESS, HeadlessGemma
from toolmend.dialects.families.xml_call import XML_CALL, XMLCall
from toolmend.pipeline.dialect_choice import armed
from toolmend.pipeline.pipeline import Pipeline
from toolmend.providers.model_profiles import profile_for

CALL = 'functools[{"name": "get_weather", "arguments": {"city": "Oslo"}}]'
KNOWN = opener_index(tuple(armed(None, profile_for("acme-1", ""))))


@pytest.mark.parametrize("dialect", [GEMMA_HEADLESS, XML_CALL], ids=lambda dialect: dialect.name)
def test_a_tool_with_a_huge_name_has_no_opener(dialect: HeadlessGemma | XMLCall) -> None:
    """An index has each prefix of each opener: of a name of 70,000 characters these are gigabytes."""
    openers = dialect.of(Tools({"short": {}, "long" * 20_000: {}})).openers
    assert any("short" in opener for opener in openers)
    assert not any("long" in opener for opener in openers)


@pytest.mark.parametrize("text", ["of", "if it is of", "a_f", "2f", "fu", "functoo", "of functools", "see <", "x < "])
def test_begin(text: str) -> None:
    begins = text.startswith("fu") or " f" in text or "<" in text
    assert bool(KNOWN.openings.begin(text)) is begins
    match = KNOWN.text_state.safe.match(b'"' + text.encode() + b'"', 1)
    assert match
    assert (match.end() == len(text) + 1) is not begins


@given(st.lists(st.sampled_from(["of", " of", "f", " f", "fu", "<", "<|", "[", "]", "é", "\n", "2f", "functools", "a b c "]) | st.text(max_size=9)).map("".join))
def test_a_long_text_is_as_a_short_one(text: str) -> None:
    """Behind so many lines it is searched in another way."""
    short, long = KNOWN.openings.begin(text[: SHORT - 1]), KNOWN.openings.begin("\n" * SHORT + text[: SHORT - 1])
    assert (short and (short.start() + SHORT, short.group())) == (long and (long.start(), long.group()))


@pytest.mark.parametrize(
    ("before", "called"),
    [("", True), ("Let me look. ", True), ("Look:", True), ("Look\n", True), ("好的", True), ("of", False), ("my_", False), ("7", False)],
)
def test_within_a_word(before: str, called: bool) -> None:
    text = before + CALL
    for cut in range(1, len(text)):
        made = Pipeline(WEATHER)
        body = stream([text[:cut], text[cut:]])
        out = made.feed(body) + made.close()
        assert ("phi" in made.rules) is called, (text[:cut], text[cut:])
        assert called or out == body


@pytest.mark.parametrize("texts", [["The", " sum", " of", " it", ", if", " you", " ask"], ["As", " a", " function of", " it", ", functional if"]])
def test_what_ends_a_word_is_not_held(texts: list[str]) -> None:
    made = Pipeline(WEATHER)
    events = [part + b"\n\n" for part in stream(texts).split(b"\n\n") if part]
    assert [made.feed(data) for data in events] == events
