"""A request that is under way while the script is loaded anew: what became of it nobody knows but the addon that had it.

    done             claim(flows, addon)     of the old one; a flow outlives it, and nothing else of the package does
    responseheaders  @by_whom_it_was_asked   of the new one, which hands it back
    response, error  …

Rule of this file: an addon that has been taken away does nothing but what it had begun.
"""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING

from mitmproxy import http

if TYPE_CHECKING:
    from ..addon import Toolmend

_OWNER = "toolmend"
"""The attribute of a flow."""

type Hook = Callable[["Toolmend", http.HTTPFlow], None]


def claim(flows: Iterable[http.HTTPFlow], addon: "Toolmend") -> None:
    """These are the addon's from here on, unless they are released."""
    for flow in list(flows):
        vars(flow)[_OWNER] = addon


def release(flow: http.HTTPFlow) -> None:
    """It is nobody's any more."""
    vars(flow).pop(_OWNER, None)


def by_whom_it_was_asked(hook: Hook) -> Hook:
    """A hook that is the owner's, where a flow has one."""

    @wraps(hook)
    def asked(self: "Toolmend", flow: http.HTTPFlow) -> None:
        owner: Toolmend = vars(flow).get(_OWNER, self)
        if owner is self:
            hook(self, flow)
        else:
            self.exchanges.lend(owner.exchanges)
            getattr(owner, hook.__name__)(flow)

    return asked
