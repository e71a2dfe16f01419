"""error_text.py: class and place of an exception, and a message only of an OSError."""

from errno import ENOSPC

from toolmend.core.error_text import class_and_place, reason


def test_the_message_is_left_out() -> None:
    try:
        int("sk-secret")
    except ValueError as error:
        text = class_and_place(error)
    assert text.startswith("ValueError in test_the_message_is_left_out (test_error_text.py:")
    assert "secret" not in text


def test_only_an_os_error_has_a_text() -> None:
    assert reason(OSError(ENOSPC, "No space left on device", "/private")) == "No space left on device"
    assert reason(OSError("no number")) == "no number"
    assert reason(ValueError("sk-secret")) == "ValueError"
