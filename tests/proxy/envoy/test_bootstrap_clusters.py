"""bootstrap_clusters.py: the clusters of a configuration for Envoy."""

import pytest

from tests.support.envoy_plans import PLANS, parts
from toolmend.proxy.envoy.bootstrap import Plan, bootstrap
from toolmend.proxy.envoy.bootstrap_text import plain


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_every_cluster_that_is_named_is_there_once(plan: Plan) -> None:
    made = plain(bootstrap(plan))
    clusters = [cluster["name"] for cluster in made["static_resources"]["clusters"]]
    assert len(clusters) == len(set(clusters))
    named = {route["cluster"] for route in parts(made, "route")}
    assert {*named, "toolmend"} == set(clusters)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_a_providers_certificate_is_checked_and_its_name_too(plan: Plan) -> None:
    for cluster in plain(bootstrap(plan))["static_resources"]["clusters"]:
        scheme, _, netloc = cluster["name"].partition("://")
        assert ("transport_socket" in cluster) == (scheme == "https")
        for context in parts(cluster, "validation_context"):
            (name,) = context["match_typed_subject_alt_names"]
            assert name["matcher"]["exact"] in netloc
            assert context["trusted_ca"] == {"filename": plan.ca}
