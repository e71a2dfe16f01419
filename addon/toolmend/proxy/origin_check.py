"""Decides which requests may use a route's key or a recording: those of programs, and of web pages on the user's own hosts.

    Host: localhost:8080                                             a program: allowed
    Host: evil.com:8080                       (direct)               DNS rebinding: evil.com resolves to this machine
    Host: localhost:8080  Origin: https://evil.com                   a page of another site
    Host: localhost:8080  Origin: http://localhost:8080              a page that this server serves: allowed
    Host: localhost:8080  Origin: vscode-file://vscode-app           a program with an embedded browser: allowed

1. A client that takes this proxy for the server itself (reverse mode, or a request without proxy form) must call one of the
   user's hosts, or a host of a known LLM API.
2. A web page must be of the host that it calls, and that must be one of the user's hosts, in any mode.

The user's hosts are this machine's names and addresses, the host that reverse mode forwards to, and those in `toolmend_hosts` or
a route's `from`. A glob that any host name can match, as `*` or `api.*`, does not count.
"""

import socket
from functools import cache

from mitmproxy import http
from mitmproxy.proxy.mode_specs import ReverseMode

from ..config.settings import Settings
from ..providers.hosts import fits, has_one_owner, is_public_name, known, split_port
from ..providers.web_origin import is_of, page_of
from . import flow_info
from .patches.called_host import called_host, is_direct

RESERVED = ("example", "invalid", "test")
"""Reserved top-level names: not this machine's either, as a resolver may be made to answer for them."""


def refusal(flow: http.HTTPFlow, settings: Settings) -> str:
    """Returns why a request may not use routes or recordings, as a sentence for the client; empty if it may."""
    called = called_host(flow)
    own = _is_users(called, flow, settings)
    if is_direct(flow) and not (own or known(called)):
        return (
            f"{flow_info.printable(called)} is not a name of this machine, and a web page may have caused this request (DNS "
            "rebinding): call localhost or an address, or add the name to toolmend_hosts"
        )
    page = page_of(flow_info.headers(flow.request))
    if page and not (own and is_of(page, called, flow.request.scheme)):
        return f"a web page sent this request ({flow_info.printable(page)}), and only programs may: send it without a browser"
    return ""


def _is_users(called: str, flow: http.HTTPFlow, settings: Settings) -> bool:
    """Returns whether a host is one of the user's hosts."""
    name, port = split_port(called)
    if name == _machine() or not (is_public_name(name) or name.rpartition(".")[2] in RESERVED):
        return True
    mode = flow.client_conn.proxy_mode
    if isinstance(mode, ReverseMode) and name == split_port(mode.address[0])[0]:
        return True
    if any(has_one_owner(split_port(glob)[0]) and fits(name, port, glob) for glob in settings.hosts):
        return True
    return any(has_one_owner(route.host) and fits(name, "", route.host) for route in settings.routes)


@cache
def _machine() -> str:
    return socket.gethostname().lower().rstrip(".")
