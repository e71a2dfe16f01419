"""exchange_record.py: what a record holds when only a request is known."""

from toolmend.core.exchange_record import ExchangeRecord
from toolmend.core.fastclass import replace

RECORD = ExchangeRecord(
    flow_id="f",
    provider="p",
    api="chat",
    model="m",
    method="POST",
    host="h",
    path="/v1/chat/completions?x=1",
    http_version="HTTP/1.1",
    status=0,
    request_headers=(),
    response_headers=(),
    request=b"{}",
    upstream_request=None,
    stream=True,
    settings={},
)


def test_a_client_is_that_of_its_upstream_unless_named() -> None:
    assert (RECORD.client_api, RECORD.client_stream, RECORD.route, RECORD.transport) == ("", None, "", "")
    routed = replace(RECORD, client_api="messages", client_stream=False, route="r")
    assert (routed.api, routed.client_api, routed.client_stream) == ("chat", "messages", False)


def test_records_share_no_session() -> None:
    other = ExchangeRecord(**{name: getattr(RECORD, name) for name in ExchangeRecord.__match_args__[:15]})
    assert other == RECORD
    assert other.session == {}
    assert other.session is not RECORD.session
