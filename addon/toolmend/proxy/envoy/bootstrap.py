"""Envoy's whole configuration for toolmend's workers, as data with reasons: `toolmend envoy-config` prints it.

    client ─► listener of one provider ─► ext_proc: a worker ─► the provider, or a route's upstream

gRPC metadata (UPSTREAM_METADATA), which no client can send, names the listener's provider to the worker. The worker names another
upstream by a header (UPSTREAM_HEADER), which is removed from clients' requests.

Every value was measured with a real Envoy or follows its documentation; the reason is in the value's Why.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...core.fastclass import value
from ...providers.routes import Origin
from .bootstrap_clusters import WORKERS, address, origin_name, upstream, workers
from .bootstrap_text import TYPES, Why

UPSTREAM_METADATA = "toolmend-upstream"
UPSTREAM_HEADER = "x-toolmend-upstream"
"""Both: scheme://host[:port]."""
INTERNAL = [UPSTREAM_HEADER, "x-forwarded-proto"]
"""Headers that are not sent to a provider: toolmend's and Envoy's own."""
BODY_LIMIT = 32 * 1024 * 1024
"""Bytes of a body that is buffered: a request with pictures may have several MiB."""
EXT_PROC = "envoy.filters.http.ext_proc"

ACCESS = {
    # the request id joins a line with its recording, which the worker names by it
    "time": "%START_TIME%",
    "request_id": "%REQ(X-REQUEST-ID)%",
    "listens_for": "",  # the listener's own
    "upstream": "%UPSTREAM_CLUSTER_RAW%",
    "method": "%REQ(:METHOD)%",
    "path": "%PATH(NQ)%",
    "status": "%RESPONSE_CODE%",
    "flags": "%RESPONSE_FLAGS%",
    "details": "%RESPONSE_CODE_DETAILS%",
    "failure": "%UPSTREAM_TRANSPORT_FAILURE_REASON%",
    "milliseconds": "%DURATION%",
    "bytes_received": "%BYTES_RECEIVED%",
    "bytes_sent": "%BYTES_SENT%",
}
"""The access log, one JSON object a line; without the path's query, which may contain a key."""

ALERTS = {
    # names in Envoy's /stats → what it means if the value rises (or is 0, where stated)
    "http.toolmend.ext_proc.failure_mode_allowed": "a stream passed unmended: no worker, or the worker failed",
    "http.toolmend.ext_proc.spurious_msgs_received": "a worker sent a message that Envoy does not expect: a bug of toolmend",
    "http.toolmend.ext_proc.message_timeouts": "a worker did not answer in time: it hangs, or there are too few workers",
    "http.toolmend.ext_proc.streams_failed": "a worker could not be reached, or ended in the middle of a stream",
    "http.toolmend.ext_proc.rejected_header_mutations": "Envoy rejected a header change: mutation_rules differ from toolmend's",
    "http.toolmend.downstream_rq_idle_timeout": "a silent stream was cut: a worker hung, or a model took too long",
    "cluster.toolmend.upstream_rq_retry_limit_exceeded": "no worker accepted a request, after all retries",
    "cluster.toolmend.membership_healthy": "0: all workers are down",
}
"""Statistics that show that streams pass unmended or are lost. None of them rises in normal operation."""


@value
class Listener:
    """An address for clients, and the provider that it serves."""

    host: str
    port: int
    upstream: Origin


@value
class Plan:
    """The input of a configuration.

    Attributes:
        workers: Host and port of each worker.
        listeners: The addresses for clients.
        targets: The upstreams of routes.
        admin: Host and port of Envoy's admin interface.
        fail_open: Whether streams pass unmended without a worker.
        ca: The file of the CAs that upstreams' certificates are checked with.
        tls: Certificate and key of the listeners; None: plain HTTP.
        message_timeout: Seconds that a worker may take for headers or a whole body.
        idle_timeout: Seconds that a stream may be silent.
    """

    workers: tuple[tuple[str, int], ...]
    listeners: tuple[Listener, ...]
    targets: tuple[Origin, ...] = ()
    admin: tuple[str, int] = ("127.0.0.1", 9901)
    fail_open: bool = True
    ca: str = "/etc/ssl/certs/ca-certificates.crt"
    tls: tuple[Path, Path] | None = None
    message_timeout: float = 5.0
    idle_timeout: float = 3600.0


def bootstrap(plan: Plan) -> dict[str, Any]:
    """Returns the whole configuration. Conflicting addresses are left for Envoy to report."""
    origins = dict.fromkeys([*(listener.upstream for listener in plan.listeners), *plan.targets])
    return {
        "admin": Why({"address": address(*plan.admin)}, "it can stop Envoy: on this machine only"),
        "static_resources": {
            "listeners": [_listener(plan, listener) for listener in plan.listeners],
            "clusters": [workers(plan.workers), *(upstream(origin, plan.ca) for origin in origins)],
        },
    }


def _listener(plan: Plan, listener: Listener) -> dict[str, Any]:
    name = origin_name(listener.upstream)
    return {
        "name": f"{listener.host}:{listener.port}={name}",
        "address": address(listener.host, listener.port),
        "per_connection_buffer_limit_bytes": Why(
            BODY_LIMIT, "default 1 MiB: Envoy would answer 413 to a longer request that is to be read"
        ),
        "filter_chains": [
            {
                "filters": [
                    {
                        "name": "envoy.filters.network.http_connection_manager",
                        "typed_config": _connection_manager(plan, name),
                    }
                ],
                **({"transport_socket": _tls(plan.tls)} if plan.tls else {}),
            }
        ],
    }


def _connection_manager(plan: Plan, name: str) -> dict[str, Any]:
    return {
        "@type": _type("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
        "stat_prefix": WORKERS,
        "codec_type": Why("AUTO", "clients speak HTTP/1.1 or HTTP/2"),
        "stream_idle_timeout": Why(
            _seconds(plan.idle_timeout), "default 5 min; a model may think longer. It also ends streams of a hung worker"
        ),
        "generate_request_id": True,
        "early_header_mutation_extensions": [
            {
                "name": "envoy.http.early_header_mutation.header_mutation",
                "typed_config": {
                    "@type": _type("envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation"),
                    "mutations": Why(
                        [
                            {"remove": UPSTREAM_HEADER},
                            {"remove": "x-request-id"},
                            {"remove_on_match": {"key_matcher": {"prefix": "x-envoy-"}}},
                        ],
                        "clients must not set the destination, the id of the recording, or Envoy's options",
                    ),
                },
            }
        ],
        "server_header_transformation": Why("PASS_THROUGH", "the client sees the provider's"),
        "http_protocol_options": {"enable_trailers": True},
        "upgrade_configs": [{"upgrade_type": "websocket"}],
        "access_log": [
            {
                "name": "envoy.access_loggers.stdout",
                "typed_config": {
                    "@type": _type("envoy.extensions.access_loggers.stream.v3.StdoutAccessLog"),
                    "log_format": {"json_format": ACCESS | {"listens_for": name}},
                },
            }
        ],
        "route_config": {
            "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": _routes(plan, name)}],
        },
        "http_filters": [
            {"name": EXT_PROC, "typed_config": _ext_proc(plan, name)},
            {
                "name": "envoy.filters.http.router",
                "typed_config": {
                    "@type": _type("envoy.extensions.filters.http.router.v3.Router"),
                    "suppress_envoy_headers": Why(True, "hides Envoy from both sides"),
                },
            },
        ],
    }


def _routes(plan: Plan, name: str) -> list[dict[str, Any]]:
    upgrade = {"name": "upgrade", "string_match": {"exact": "websocket", "ignore_case": True}}
    unread = Why(
        {EXT_PROC: {"@type": _type("envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute"), "disabled": True}},
        "a WebSocket passes unchanged: its frames are not mended with Envoy",
    )
    websocket = {
        "match": {"prefix": "/", "headers": [upgrade]},
        "route": _route_action(name),
        "request_headers_to_remove": INTERNAL,
        # with routes, the worker refuses a WebSocket to their hosts, and the client falls back to HTTP
        **({} if plan.targets else {"typed_per_filter_config": unread}),
    }
    led = [
        {
            "match": {"prefix": "/", "headers": [{"name": UPSTREAM_HEADER, "string_match": {"exact": target}}]},
            "route": _route_action(target),
            "request_headers_to_remove": INTERNAL,
        }
        for target in dict.fromkeys(map(origin_name, plan.targets))
    ]
    unknown = {
        "match": {"prefix": "/", "headers": [{"name": UPSTREAM_HEADER, "present_match": True}]},
        "direct_response": Why(
            {"status": 500, "body": {"inline_string": "a route of the worker leads to a host without a cluster in this Envoy"}},
            "otherwise the key of a route whose target is not listed here would go to this listener's provider",
        ),
    }
    default = {"match": {"prefix": "/"}, "route": _route_action(name), "request_headers_to_remove": INTERNAL}
    return [websocket, *led, unknown, default]


def _route_action(name: str) -> dict[str, Any]:
    return {
        "cluster": name,
        "host_rewrite_literal": name.partition("://")[2],
        "timeout": Why("0s", "default 15 s: would cut every long stream"),
        "retry_policy": Why({"retry_on": "connect-failure,reset-before-request", "num_retries": 2}, "only if nothing was sent"),
    }


def _ext_proc(plan: Plan, name: str) -> dict[str, Any]:
    opens = "without a worker the stream passes unmended" if plan.fail_open else "without a worker: 500, nothing passes unmended"
    return {
        "@type": _type("envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor"),
        "failure_mode_allow": Why(plan.fail_open, f"{opens}; no effect once a stream has begun"),
        "message_timeout": Why(_seconds(plan.message_timeout), "default 200 ms; for headers and whole bodies, not for streams"),
        "allow_mode_override": Why(True, "the worker requests what it reads: bodies of LLM calls only"),
        "mutation_rules": {
            "allow_all_routing": Why(True, "otherwise Envoy silently drops a new :authority"),
            "allow_envoy": Why(True, "otherwise it keeps x-envoy-… headers that the worker removes"),
        },
        "grpc_service": {
            "envoy_grpc": {"cluster_name": WORKERS, "max_receive_message_length": BODY_LIMIT + 1024 * 1024},
            "initial_metadata": [{"key": UPSTREAM_METADATA, "value": name}],
            "retry_policy": {
                "num_retries": 3,
                "retry_on": Why(
                    "connect-failure,refused-stream,reset-before-request,unavailable",
                    "required: without it, half of the requests failed with one of two workers dead",
                ),
                "retry_host_predicate": [
                    {
                        "name": "envoy.retry_host_predicates.previous_hosts",
                        "typed_config": {"@type": _type("envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate")},
                    },
                ],
                "host_selection_retry_max_attempts": Why(5, "tries another worker than the one that failed"),
            },
        },
        "processing_mode": {
            "request_header_mode": "SEND",
            "request_body_mode": Why("NONE", "the worker overrides this; Envoy ignores an override that asks for less"),
            "request_trailer_mode": "SKIP",
            "response_header_mode": "SEND",
            "response_body_mode": "NONE",
            "response_trailer_mode": "SKIP",
        },
    }


def _tls(pair: tuple[Path, Path]) -> Mapping[str, Any]:
    chain, key = ({"filename": str(file)} for file in pair)
    return {
        "name": "envoy.transport_sockets.tls",
        "typed_config": {
            "@type": _type("envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext"),
            "common_tls_context": {
                "alpn_protocols": ["h2", "http/1.1"],
                "tls_certificates": [{"certificate_chain": chain, "private_key": key}],
            },
        },
    }


def _type(message: str) -> str:
    return TYPES + message


def _seconds(number: float) -> str:
    return f"{number:g}s"
