"""An exchange whose request and headers a redactor reads."""

import json

from toolmend.core.exchange_record import ExchangeRecord


def exchange(
    headers: tuple[tuple[str, str], ...] = (),
    path: str = "/v1/chat/completions",
    request: object = None,
    upstream: object = None,
) -> ExchangeRecord:
    return ExchangeRecord(
        flow_id="f",
        provider="p",
        api="chat",
        model="m",
        method="POST",
        host="h",
        path=path,
        http_version="HTTP/1.1",
        status=200,
        request_headers=headers,
        response_headers=(),
        request=json.dumps(request).encode(),
        upstream_request=None if upstream is None else json.dumps(upstream).encode(),
        stream=True,
        settings={},
    )
