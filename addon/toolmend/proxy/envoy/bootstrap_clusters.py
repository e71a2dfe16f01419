"""Envoy's clusters: the workers, and the upstreams.

An upstream's certificate is checked against the system's CAs *and* its host name. By default Envoy checks neither.
"""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

from ...providers.routes import Origin
from .bootstrap_text import TYPES, Why

WORKERS = "toolmend"
"""Name of the workers' cluster."""
SERVICE = "envoy.service.ext_proc.v3.ExternalProcessor"
"""The gRPC service whose health is checked."""
PROTOCOLS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"

MANY = 100_000
"""Bound of concurrent streams: high enough that only the machine limits them."""


def address(host: str, port: int) -> dict[str, Any]:
    """Returns an address in Envoy's form."""
    return {"socket_address": {"address": host, "port_value": port}}


def origin_name(origin: Origin) -> str:
    """Returns `https://api.moonshot.ai`: the worker's header value, and the cluster's name."""
    return f"{origin.scheme}://{origin.netloc}"


def workers(at: Sequence[tuple[str, int]]) -> dict[str, Any]:
    """Returns the cluster of the workers, at (host, port)."""
    return {
        "name": WORKERS,
        "type": "STATIC" if all(_is_address(host) for host, _ in at) else "STRICT_DNS",
        "connect_timeout": "0.5s",
        "lb_policy": Why("LEAST_REQUEST", "a request is one gRPC stream, so it stays with its worker to its end"),
        "common_lb_config": {
            "healthy_panic_threshold": Why({"value": 0}, "default 50 %: with all workers dead, each request would wait for one"),
        },
        "typed_extension_protocol_options": _protocols(
            {"explicit_http_config": {"http2_protocol_options": Why({}, "gRPC")}},
        ),
        "circuit_breakers": {
            "thresholds": [
                {
                    "max_connections": MANY,
                    "max_pending_requests": MANY,
                    "max_requests": Why(MANY, "default 1024 streams: more would not be mended"),
                    "max_retries": Why(MANY, "default 3: too few if many streams begin while a worker dies"),
                },
            ],
        },
        "health_checks": [
            {
                "timeout": "2s",
                "interval": "2s",
                "no_traffic_interval": "2s",
                "unhealthy_threshold": Why(3, "for a worker that hangs; one that is gone is found at once, by the retries"),
                "healthy_threshold": 1,
                "grpc_health_check": Why({"service_name": SERVICE}, "a worker reports that it ends before it stops listening"),
            },
        ],
        "load_assignment": {
            "cluster_name": WORKERS,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address(host, port)}} for host, port in at]}],
        },
    }


def upstream(origin: Origin, ca: str) -> dict[str, Any]:
    """Returns the cluster of an upstream; `ca`: the file of the trusted CAs, as Envoy sees it."""
    name = origin_name(origin)
    where = {"type": "STATIC"} if _is_address(origin.host) else {"type": "LOGICAL_DNS", "dns_lookup_family": "ALL"}
    return {
        "name": name,
        **where,
        "connect_timeout": "10s",
        "typed_extension_protocol_options": _protocols(
            {
                "common_http_protocol_options": {"idle_timeout": Why("50s", "shorter than the usual 60 s of a provider")},
                "explicit_http_config": {
                    "http_protocol_options": Why({"enable_trailers": True}, "HTTP/1.1: WebSockets and trailers pass"),
                },
            },
        ),
        "circuit_breakers": {
            "thresholds": [{"max_connections": MANY, "max_pending_requests": MANY, "max_requests": MANY}],
        },
        "upstream_connection_options": {"tcp_keepalive": Why({"keepalive_time": 60}, "a model may be silent for minutes")},
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address(origin.host, origin.port)}}]}],
        },
        **({"transport_socket": _tls(origin.host, ca)} if origin.scheme == "https" else {}),
    }


def _tls(host: str, ca: str) -> dict[str, Any]:
    is_address = _is_address(host)
    matcher = {"san_type": "IP_ADDRESS" if is_address else "DNS", "matcher": {"exact": host}}
    return {
        "name": "envoy.transport_sockets.tls",
        "typed_config": {
            "@type": f"{TYPES}envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
            **({} if is_address else {"sni": host}),
            "common_tls_context": {
                "alpn_protocols": ["http/1.1"],
                "validation_context": {
                    "trusted_ca": Why({"filename": ca}, "without it Envoy accepts any certificate"),
                    "match_typed_subject_alt_names": Why([matcher], "without it Envoy accepts a certificate of any host"),
                },
            },
        },
    }


def _protocols(options: dict[str, Any]) -> dict[str, Any]:
    return {PROTOCOLS: {"@type": f"{TYPES}{PROTOCOLS}", **options}}


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
