"""Removes a contentview from mitmproxy when the script is reloaded.

Bug: mitmproxy's registry can add a view and not remove it, so the view of the old package would stay after a reload.
Version: mitmproxy 12.2 and 12.3 (`ContentviewRegistry._by_name`).
Obsolete when: the registry has a method that removes a view.
If mitmproxy differs, the old view stays.
"""

from contextlib import suppress

from mitmproxy import contentviews


def remove(view: contentviews.Contentview) -> None:
    """Removes a view, unless another one has been added under its name."""
    with suppress(AttributeError):
        views = contentviews.registry._by_name  # noqa: SLF001  there is no public way
        if views.get(view.name.lower()) is view:
            del views[view.name.lower()]
