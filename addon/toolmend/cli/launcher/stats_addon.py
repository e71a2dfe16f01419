"""The second script of the proxies that toolmend starts itself: it counts answers, keeps events live, knows the company's proxy.

    toolmend: tally {"answers": 5, "mended": 2, "faults": 0, "rules": {"kimi_k2": 2}, "folder": "…", "warnings": [], …}

Rule of this file: it changes nothing of what is said. It writes a line to the log when all is at work, for an LLM answer and for
a warning, with the sums since the start: that is all that `toolmend run` and `toolmend status` read. It is loaded behind
main.py, whose notes in the flows it counts, and whose routes are decided when its own hooks are called.
What mitmdump prints has no key in it: the log of `toolmend start` lies on the disk.
"""

import asyncio
import json
import logging
import os
import sys
from collections import Counter
from itertools import pairwise
from typing import IO
from weakref import WeakSet

from mitmproxy import ctx, flow, http
from mitmproxy.proxy.mode_specs import UpstreamMode

from toolmend.cli.launcher.corporate_proxy import UnusableError, company, is_direct
from toolmend.cli.launcher.tally import MARK
from toolmend.config.checks import suggestion
from toolmend.proxy import response_headers
from toolmend.secrets.redactor import keyless

logger = logging.getLogger(__name__)

KEPT, LONG = 5, 300
"""Warnings that a tally repeats, and their characters."""

SAID = "Client TLS handshake failed"
"""What mitmproxy warns of, and interception.py says better."""


class Keyless:
    """Where mitmdump prints what passes, without keys."""

    def __init__(self, out: IO[str]) -> None:
        self.out = out

    def write(self, text: str) -> int:
        return self.out.write(keyless(text))

    def flush(self) -> None:
        self.out.flush()


class Companion(logging.Handler):
    """The addon; and it hears the warnings of all of mitmproxy."""

    name = "toolmend.companion"

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.answers = self.mended = self.faults = self.unanswered = 0
        self.gave_up = ""
        self.rules: Counter[str] = Counter()
        self.folder: str | None = None
        self.warnings: list[str] = []
        self._counted: WeakSet[flow.Flow] = WeakSet()

    def running(self) -> None:
        for flag, word in pairwise(sys.argv):
            name = word.partition("=")[0]
            if flag == "--set" and name in ctx.options.deferred:  # nobody knows it, and mitmproxy says nothing
                logger.error("toolmend: there is no option %s%s", name, suggestion(name, ctx.options.keys()))  # type: ignore[no-untyped-call]
                return
        logging.getLogger("mitmproxy.proxy.server").setLevel(logging.WARNING)  # two lines for each connection
        logging.getLogger().addHandler(self)
        if dumper := ctx.master.addons.get("dumper"):  # type: ignore[no-untyped-call]
            dumper.outfp = Keyless(dumper.outfp)
        try:
            found = company(os.environ)
        except UnusableError:
            found = None
        if found and found.auth and ctx.options.mode == [found.mode] and not ctx.options.upstream_auth:
            ctx.options.upstream_auth = found.auth
        self._log_stats()

    def done(self) -> None:
        logging.getLogger().removeHandler(self)
        dumper = ctx.master.addons.get("dumper")  # type: ignore[no-untyped-call]
        if dumper and isinstance(dumper.outfp, Keyless):
            dumper.outfp = dumper.outfp.out

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage().removeprefix("toolmend: ").partition("\n")[0][:LONG]
        if text.startswith(SAID):
            return
        self.warnings = [*self.warnings, "".join(char if char.isprintable() else "?" for char in text)][-KEPT:]
        self._log_stats()

    def request(self, flow: http.HTTPFlow) -> None:
        """A route may lead to a host that the company's proxy does not know: a server on loopback, one of NO_PROXY."""
        mode = flow.client_conn.proxy_mode
        if isinstance(mode, UpstreamMode):
            direct = is_direct(os.environ, flow.request.host, flow.request.port)
            flow.server_conn.via = None if direct else (mode.scheme, mode.address)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """What is no answer of an LLM: mitmproxy has it whole before it goes on, and events, or a download, may have no end."""
        response, toolmend = flow.response, ctx.master.addons.get("toolmend")  # type: ignore[no-untyped-call]
        ours = toolmend and flow in toolmend.exchanges
        if response and not (ours or response.stream) and response_headers.comes(flow, response):
            response.stream = lambda data: data or []  # an empty frame of HTTP/2 is no end

    def response(self, flow: http.HTTPFlow) -> None:
        self._count(flow)

    def error(self, flow: http.HTTPFlow) -> None:
        self._count(flow)

    def websocket_end(self, flow: http.HTTPFlow) -> None:
        self._count(flow)
        asyncio.get_running_loop().call_soon(self._log_stats)  # mitmdump tells the server's words, which may look like a tally

    def _count(self, flow: http.HTTPFlow) -> None:
        noted = flow.metadata.get("toolmend")
        if noted is None or flow in self._counted:
            return
        self._counted.add(flow)
        rules = dict.fromkeys(noted["rules"])
        if told := noted.get("unanswered"):
            self.unanswered += 1
            self.gave_up = told
        else:
            self.answers += 1
            self.faults += bool(noted["error"])
        self.mended += bool(rules)
        self.rules.update(list(rules))
        self.folder = noted["folder"] or self.folder
        self._log_stats()

    def _log_stats(self) -> None:
        fields = ("answers", "mended", "faults", "unanswered", "gave_up", "rules", "folder", "warnings")
        logger.info("%s%s", MARK, json.dumps({name: getattr(self, name) for name in fields}))


addons = [Companion()]
