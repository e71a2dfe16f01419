"""error_words.py: the words of an error, wherever they stand."""

from toolmend.apis.shared.error_words import stream_error
from toolmend.core.events import StreamError


def test_errors() -> None:
    assert stream_error("overloaded") == StreamError("error", "overloaded")
    assert stream_error({"type": "t", "message": "m", "code": 529}) == StreamError("t", "m", 529)
    assert stream_error({"code": "rate_limited"}) == StreamError("error", '{"code":"rate_limited"}')
    assert stream_error({"code": "429", "message": "m"}) == StreamError("error", "m", 429)
    assert stream_error({"code": "1429", "message": "m", "type": None}) == StreamError("error", "m")
