"""A contentview goes when the script is reloaded, and what this takes from mitmproxy."""

from mitmproxy import contentviews

from toolmend.proxy.contentview import LLMStream
from toolmend.proxy.patches import contentview_registry


def test_a_view_is_removed() -> None:
    """If mitmproxy's registry differs, the view of the old package stays after a reload: see contentview_registry.py."""
    old, new = LLMStream(), LLMStream()
    contentviews.add(old)
    contentview_registry.remove(new)
    assert contentviews.registry[old.name] is old
    contentview_registry.remove(old)
    assert old.name not in contentviews.registry.available_views()
