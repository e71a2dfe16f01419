"""value_text.py: the text of a parameter's value, and closers that are in doubt."""

from tests.support.closers import QWEN, WRITE, W
from tests.support.markup import Told
from toolmend.core.events import ToolCallDelta
from toolmend.dialects.engine.value_text import MAX_DOUBT


def test_doubt_has_a_bound() -> None:
    """After MAX_DOUBT characters a tag with text after it belongs to the value, which streams again."""
    told = Told([], WRITE, QWEN)
    reader = told.reader
    reader.feed(W.partition("{}")[0] + "<parameter=content>\nx\n</parameter>\n")
    assert not reader.feed("more\n" * 100)
    reader.feed("more\n" * (MAX_DOUBT // 5))
    assert "".join(op.arguments for op in reader.feed("and more") if isinstance(op, ToolCallDelta)).endswith("and more")
