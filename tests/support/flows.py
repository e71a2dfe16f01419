"""Flows of mitmproxy, made by hand."""

from mitmproxy import http
from mitmproxy.test import tutils


def response(**headers: str) -> http.Response:
    fields = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return tutils.tresp(headers=http.Headers(fields))
