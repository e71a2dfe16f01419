"""Plans of a configuration for Envoy."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolmend.providers.routes import Origin
from toolmend.proxy.envoy.bootstrap import Listener, Plan

KIMI, ROUTER = Origin("https", "api.moonshot.ai", 443), Origin("https", "openrouter.ai", 443)
LOCAL, SIX = Origin("http", "127.0.0.1", 8000), Origin("https", "::1", 8443)
ONE = Plan((("127.0.0.1", 18711),), (Listener("127.0.0.1", 8080, KIMI),))
PLANS = {
    "one of each": ONE,
    "two workers": replace(ONE, workers=(("127.0.0.1", 18711), ("worker.example", 18711))),
    "two listeners for one provider": replace(ONE, listeners=(*ONE.listeners, Listener("127.0.0.1", 8081, KIMI))),
    "addresses": replace(ONE, listeners=(Listener("::1", 8080, LOCAL), Listener("127.0.0.1", 8081, SIX))),
    "a route that leads to a listener's provider": replace(ONE, targets=(KIMI, ROUTER)),
    "closed": replace(ONE, fail_open=False),
    "TLS": replace(ONE, tls=(Path("cert.pem"), Path("key.pem"))),
    "parts of seconds": replace(ONE, message_timeout=0.3, idle_timeout=2.5),
}


def parts(value: Any, name: str) -> Iterator[Any]:
    """What stands under a name, wherever that is."""
    for key, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if key == name:
            yield one
        yield from parts(one, name)
