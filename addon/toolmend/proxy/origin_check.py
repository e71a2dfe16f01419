"""Which requests may use a route's key or a recording: those of programs, and of pages that are the user's own.

    Host: localhost:8080                                             a program's: yes
    Host: evil.com:8080                       (direct)               DNS rebinding: evil.com leads to this machine
    Host: localhost:8080  Origin: https://evil.com                   a page of another site
    Host: localhost:8080  Origin: http://localhost:8080              a page that this server serves: yes
    Host: localhost:8080  Origin: vscode-file://vscode-app           a program with a browser in it: yes

1. A client that takes this proxy for the server itself (reverse mode, or a request that is not one for a proxy) has to call one
   of the user's hosts, or one of an LLM API that toolmend knows.
2. A web page has to be of the host that it calls, and that has to be one of the user's, however it is called.

The user's hosts are this machine's names and addresses, the host that the reverse mode is for, and those that `toolmend_hosts`
or a route's `from` names. A glob that anybody's name fits, as `*` or `api.*`, names none.
"""

import socket
from functools import cache

from mitmproxy import http
from mitmproxy.proxy.mode_specs import ReverseMode

from ..config.settings import Settings
from ..providers.hosts import anybodys, fits, known, names_an_owner, split_port
from ..providers.web_origin import is_of, page_of
from . import flow_info
from .patches.called_host import called_host, is_direct

RESERVED = ("example", "invalid", "test")
"""Names that nobody can have, but that are no names of a machine either: a resolver may be made to answer for them."""


def refusal(flow: http.HTTPFlow, settings: Settings) -> str:
    """Why a request may use no route and no recording, in a sentence for the client; empty if it may."""
    called = called_host(flow)
    own = _is_users(called, flow, settings)
    if is_direct(flow) and not (own or known(called)):
        return (
            f"{flow_info.printable(called)} is not a name of this machine, and a web page may have led it here (DNS rebinding): "
            "call localhost or an address, or add the name to toolmend_hosts"
        )
    page = page_of(flow_info.headers(flow.request))
    if page and not (own and is_of(page, called, flow.request.scheme)):
        return f"a web page sent this request ({flow_info.printable(page)}), and only programs may: send it without a browser"
    return ""


def _is_users(called: str, flow: http.HTTPFlow, settings: Settings) -> bool:
    """Whether it is a host that the user has named, or has."""
    name, port = split_port(called)
    if name == _machine() or not (anybodys(name) or name.rpartition(".")[2] in RESERVED):
        return True
    mode = flow.client_conn.proxy_mode
    if isinstance(mode, ReverseMode) and name == split_port(mode.address[0])[0]:
        return True
    if any(names_an_owner(split_port(glob)[0]) and fits(name, port, glob) for glob in settings.hosts):
        return True
    return any(names_an_owner(route.host) and fits(name, "", route.host) for route in settings.routes)


@cache
def _machine() -> str:
    return socket.gethostname().lower().rstrip(".")
