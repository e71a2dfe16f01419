"""item_state.py: which calls of a response nobody has claimed."""

from toolmend.apis.responses.item_state import UnclaimedText


def test_what_is_claimed_is_gone() -> None:
    told = UnclaimedText()
    told.add("output_text", "Hi you")
    assert told.claim("output_text", "Hi") == "Hi"
    told.add("output_text", "!")
    assert told.claim("output_text", "Ho") == ""
    assert told.claim("output_text", " you! And") == " you!"
    assert told.claim("output_text", "Hi") == ""
