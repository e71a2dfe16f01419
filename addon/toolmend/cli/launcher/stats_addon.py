"""The second script of the proxies that toolmend starts: counts responses, streams unknown responses, and uses a company's proxy.

    toolmend: tally {"answers": 5, "mended": 2, "faults": 0, "rules": {"kimi_k2": 2}, "folder": "…", "warnings": [], …}

It changes no message. It writes such a line with the sums since the start when it is ready, after each LLM response and after
each warning; `toolmend run` and `toolmend status` read nothing else. It is loaded after main.py, whose metadata in the flows it
counts and whose routes must be decided before its own hooks run. Keys are masked in what mitmdump prints, since the log of
`toolmend start` is on disk.
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

from toolmend.cli.launcher.corporate_proxy import UnusableError, corporate_proxy, is_direct
from toolmend.cli.launcher.tally import MARK
from toolmend.config.checks import suggestion
from toolmend.proxy import response_headers
from toolmend.secrets.redactor import keyless

logger = logging.getLogger(__name__)

MAX_WARNINGS, MAX_WARNING = 5, 300
"""Warnings that a tally repeats, and their length in characters."""

LOGGED_ELSEWHERE = "Client TLS handshake failed"
"""A warning of mitmproxy that tls_interception.py logs with more detail."""


class KeyMaskingOutput:
    """mitmdump's output with keys masked."""

    def __init__(self, out: IO[str]) -> None:
        self.out = out

    def write(self, text: str) -> int:
        return self.out.write(keyless(text))

    def flush(self) -> None:
        self.out.flush()


class StatsAddon(logging.Handler):
    """The addon; as a log handler it also receives all warnings of mitmproxy."""

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
            if flag == "--set" and name in ctx.options.deferred:  # unknown; mitmproxy ignores it silently
                hint = suggestion(name, ctx.options.keys())  # type: ignore[no-untyped-call]
                logger.error("toolmend: no such option: %s%s", name, hint)
                return
        logging.getLogger("mitmproxy.proxy.server").setLevel(logging.WARNING)  # it logs two lines for each connection
        logging.getLogger().addHandler(self)
        if dumper := ctx.master.addons.get("dumper"):  # type: ignore[no-untyped-call]
            dumper.outfp = KeyMaskingOutput(dumper.outfp)
        try:
            found = corporate_proxy(os.environ)
        except UnusableError:
            found = None
        if found and found.auth and ctx.options.mode == [found.mode] and not ctx.options.upstream_auth:
            ctx.options.upstream_auth = found.auth
        self._log_stats()

    def done(self) -> None:
        logging.getLogger().removeHandler(self)
        dumper = ctx.master.addons.get("dumper")  # type: ignore[no-untyped-call]
        if dumper and isinstance(dumper.outfp, KeyMaskingOutput):
            dumper.outfp = dumper.outfp.out

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage().removeprefix("toolmend: ").partition("\n")[0][:MAX_WARNING]
        if text.startswith(LOGGED_ELSEWHERE):
            return
        self.warnings = [*self.warnings, "".join(char if char.isprintable() else "?" for char in text)][-MAX_WARNINGS:]
        self._log_stats()

    def request(self, flow: http.HTTPFlow) -> None:
        """Connects directly to hosts of routes that the company's proxy cannot reach: on loopback, or in NO_PROXY."""
        mode = flow.client_conn.proxy_mode
        if isinstance(mode, UpstreamMode):
            direct = is_direct(os.environ, flow.request.host, flow.request.port)
            flow.server_conn.via = None if direct else (mode.scheme, mode.address)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Streams responses that are not an LLM's: mitmproxy would buffer them, and events or a download may never end."""
        response, toolmend = flow.response, ctx.master.addons.get("toolmend")  # type: ignore[no-untyped-call]
        is_llm = toolmend and flow in toolmend.exchanges
        if response and not (is_llm or response.stream) and response_headers.comes(flow, response):
            response.stream = lambda data: data or []  # an empty HTTP/2 frame is not the end

    def response(self, flow: http.HTTPFlow) -> None:
        self._count(flow)

    def error(self, flow: http.HTTPFlow) -> None:
        self._count(flow)

    def websocket_end(self, flow: http.HTTPFlow) -> None:
        self._count(flow)
        asyncio.get_running_loop().call_soon(self._log_stats)  # after mitmdump's line, which may quote a fake tally

    def _count(self, flow: http.HTTPFlow) -> None:
        notes = flow.metadata.get("toolmend")
        if notes is None or flow in self._counted:
            return
        self._counted.add(flow)
        rules = dict.fromkeys(notes["rules"])
        if unanswered_text := notes.get("unanswered"):
            self.unanswered += 1
            self.gave_up = unanswered_text
        else:
            self.answers += 1
            self.faults += bool(notes["error"])
        self.mended += bool(rules)
        self.rules.update(list(rules))
        self.folder = notes["folder"] or self.folder
        self._log_stats()

    def _log_stats(self) -> None:
        fields = ("answers", "mended", "faults", "unanswered", "gave_up", "rules", "folder", "warnings")
        logger.info("%s%s", MARK, json.dumps({name: getattr(self, name) for name in fields}))


addons = [StatsAddon()]
