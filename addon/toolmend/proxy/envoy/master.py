"""The addon without a proxy: mitmproxy's master, for options and log, and nothing that listens.

    headless = Headless({"toolmend_dialects": "kimi_k2"})      in a running event loop
    headless.running(); headless.request(flow) …; headless.done()

Rule of this file: the addons are those that mitmdump loads, as far as Envoy has what they ask for. What one of them raises costs
what it was about to do, as in mitmproxy.
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
    """Options of mitmproxy's proxy that the addon sets: here they are true, and nobody asks."""

    name = "toolmend.lacking"

    def load(self, loader: Loader) -> None:
        for name, (value, why) in NEEDED.items():
            loader.add_option(name, Optional[str], value, why)  # type: ignore[arg-type]  # noqa: UP045  it takes no other union


class Headless:
    """Its hooks are called as mitmproxy calls them; none raises. `options`: `toolmend_*`. Raises exceptions.OptionsError."""

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
        ctx.master.should_exit.set()  # as mitmproxy's own end does: what takes a while may be waited for
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
            told: Callable[[http.HTTPFlow], Any] | None = getattr(addon, hook, None)
            try:
                if told:
                    told(flow)
            except Exception:
                logger.exception("toolmend: %s failed", hook)
