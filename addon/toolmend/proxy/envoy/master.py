"""Runs the addon without a proxy: mitmproxy's master with options and log, which listens nowhere.

    headless = Headless({"toolmend_dialects": "kimi_k2"})      in a running event loop
    headless.running(); headless.request(flow) …; headless.done()

The addons are those of addon/main.py for which Envoy has the hooks. An exception in one costs only that hook, as in mitmproxy.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Optional

from mitmproxy import ctx, http
from mitmproxy.addonmanager import Loader
from mitmproxy.master import Master
from mitmproxy.options import Options

from ...config.options import NEEDED
from ..addon import Toolmend
from ..websocket.sockets import Sockets

logger = logging.getLogger(__name__)


class _Lacking:
    """Declares options of mitmproxy's proxy that the addon sets; they have no effect here."""

    name = "toolmend.lacking"

    def load(self, loader: Loader) -> None:
        for name, (value, why) in NEEDED.items():
            loader.add_option(name, Optional[str], value, why)  # type: ignore[arg-type]  # noqa: UP045  no other union works


class Headless:
    """Calls the hooks as mitmproxy does; none raises.

    Args:
        options: `toolmend_*` options.

    Raises:
        exceptions.OptionsError: An option is wrong.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self.toolmend = Toolmend()
        self._addons = (self.toolmend, Sockets(self.toolmend))
        known = Options()
        known.set(*(f"{name}={value}" for name, value in options.items()), defer=True)
        master = Master(known)
        master.addons.add(_Lacking(), *self._addons)  # type: ignore[no-untyped-call]
        self.toolmend.configure(set(known.keys()))  # type: ignore[no-untyped-call]

    def running(self) -> None:
        self.toolmend.running()

    def done(self) -> None:
        ctx.master.should_exit.set()  # as at mitmproxy's shutdown, so that uploads may be waited for
        self.toolmend.done()

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        self._call_hook("requestheaders", flow)

    def request(self, flow: http.HTTPFlow) -> None:
        self._call_hook("request", flow)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        self._call_hook("responseheaders", flow)

    def response(self, flow: http.HTTPFlow) -> None:
        self._call_hook("response", flow)

    def error(self, flow: http.HTTPFlow) -> None:
        self._call_hook("error", flow)

    def _call_hook(self, hook: str, flow: http.HTTPFlow) -> None:
        for addon in self._addons:
            hook_function: Callable[[http.HTTPFlow], Any] | None = getattr(addon, hook, None)
            try:
                if hook_function:
                    hook_function(flow)
            except Exception:
                logger.exception("toolmend: %s failed", hook)
