"""A script for mitmproxy beside the addon: every host is on loopback, as if the machine's resolver said so.

    mitmdump -s addon/main.py -s tests/agents/to_loopback.py --set loopback_port=8443

So an agent calls the hosts that it calls in its maker's world, and nothing goes out. An LLM's host is the local provider;
every other one is refused. The log tells which hosts were decrypted, for a test to see: `decrypted: api.openai.com`.
"""

import logging
from typing import Any

from mitmproxy import ctx
from mitmproxy.addonmanager import Loader
from mitmproxy.proxy.server_hooks import ServerConnectionHookData
from mitmproxy.tls import TlsData

from toolmend.providers.hosts import known

logger = logging.getLogger(__name__)


class ToLoopback:
    def load(self, loader: Loader) -> None:
        loader.add_option("loopback_port", int, 0, "The port of the local provider.")

    def server_connect(self, data: ServerConnectionHookData) -> None:
        host, _port = address = data.server.address or ("", 0)
        if host in ("localhost", "127.0.0.1"):
            return
        if known(host):
            data.server.address = ("127.0.0.1", ctx.options.loopback_port)
        else:
            logger.info("refused: %s:%s", *address)
            data.server.error = "nothing but loopback is reachable here"

    def tls_established_client(self, data: TlsData) -> None:
        logger.info("decrypted: %s", _host(data))


def _host(data: TlsData) -> Any:
    return data.conn.sni or (data.context.server.address or ("?",))[0]


addons = [ToLoopback()]
