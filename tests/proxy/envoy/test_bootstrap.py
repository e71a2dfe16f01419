"""The configuration that `toolmend envoy-config` prints: Envoy's own messages take it, and it says what it has to.

What a real Envoy makes of it: tests/envoy/.
"""

from dataclasses import replace

import pytest
from ruamel.yaml import YAML

from tests.support.envoy_plans import ONE, PLANS, ROUTER, parts
from tests.support.paths import ROOT
from toolmend.proxy.envoy.bootstrap import ALERTS, Plan, bootstrap
from toolmend.proxy.envoy.bootstrap_clusters import origin_name
from toolmend.proxy.envoy.bootstrap_text import check, plain, yaml

pytest.importorskip("envoy.config.bootstrap.v3.bootstrap_pb2", reason="xds-protos is not installed")


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_envoys_messages_take_it(plan: Plan) -> None:
    made = bootstrap(plan)
    check(made)
    assert YAML(typ="safe").load(yaml(made, "a head\n\nof three lines")) == plain(made)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_a_listener_tells_the_worker_its_provider(plan: Plan) -> None:
    listeners = plain(bootstrap(plan))["static_resources"]["listeners"]
    said = [next(parts(listener, "initial_metadata")) for listener in listeners]
    assert said == [[{"key": "toolmend-upstream", "value": origin_name(one.upstream)}] for one in plan.listeners]
    assert {mode["response_body_mode"] for mode in parts(listeners, "processing_mode")} == {"NONE"}
    assert {*parts(listeners, "failure_mode_allow")} == {plan.fail_open}


def test_a_target_is_taken_by_the_workers_header_alone() -> None:
    made = plain(bootstrap(replace(ONE, targets=(ROUTER,))))
    *known, unknown, default = next(parts(made, "routes"))
    assert unknown["match"]["headers"] == [{"name": "x-toolmend-upstream", "present_match": True}]  # its key is for nobody else
    assert unknown["direct_response"]["status"] == 500
    routes = [*known, default]
    assert [one["route"]["cluster"] for one in routes] == ["https://api.moonshot.ai", "https://openrouter.ai", "https://api.moonshot.ai"]
    assert [one["match"].get("headers", [{}])[0].get("name") for one in routes] == ["upgrade", "x-toolmend-upstream", None]
    assert [one["route"]["host_rewrite_literal"] for one in routes] == ["api.moonshot.ai", "openrouter.ai", "api.moonshot.ai"]
    assert all("x-toolmend-upstream" in one["request_headers_to_remove"] for one in routes)
    assert {"remove": "x-toolmend-upstream"} in next(parts(made, "mutations"))


def test_the_page_names_what_to_alert_on() -> None:
    page = (ROOT / "docs" / "envoy.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` | {what} |" in page for name, what in ALERTS.items())
