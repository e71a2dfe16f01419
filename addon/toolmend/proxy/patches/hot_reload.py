"""Routes the hooks of a flow to the addon instance that began it, when the script is reloaded while the flow is in progress.

    done             claim(flows, addon)     called by the old instance; of the old package only flows survive a reload
    responseheaders  @handled_by_owner       called on the new instance, which delegates to the old one
    response, error  …

Bug: after a reload mitmproxy calls the new instance, which does not have the state of flows in progress.
Version: mitmproxy 12.2 and 12.3 (attributes set on a flow stay on it).
Obsolete when: mitmproxy keeps an unloaded addon for the flows that it has seen.

An unloaded instance handles only the flows that it owns.
"""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING

from mitmproxy import http

if TYPE_CHECKING:
    from ..addon import Toolmend

_OWNER = "toolmend"
"""The attribute of a flow that holds its owner."""

type Hook = Callable[["Toolmend", http.HTTPFlow], None]


def claim(flows: Iterable[http.HTTPFlow], addon: "Toolmend") -> None:
    """Makes an addon the owner of these flows, until they are released."""
    for flow in list(flows):
        vars(flow)[_OWNER] = addon


def release(flow: http.HTTPFlow) -> None:
    """Removes the owner of a flow."""
    vars(flow).pop(_OWNER, None)


def handled_by_owner(hook: Hook) -> Hook:
    """Decorates a hook so that it runs on the flow's owner, if the flow has one."""

    @wraps(hook)
    def delegate(self: "Toolmend", flow: http.HTTPFlow) -> None:
        owner: Toolmend = vars(flow).get(_OWNER, self)
        if owner is self:
            hook(self, flow)
        else:
            self.lifecycle.adopt(owner.lifecycle)
            getattr(owner, hook.__name__)(flow)

    return delegate
