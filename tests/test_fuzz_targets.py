"""fuzz/targets.py: each target for any bytes. scripts/fuzz looks further, guided by what the code does."""

import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.paths import ROOT

sys.path.append(str(ROOT / "fuzz"))

from targets import TARGETS
from tests.support.cuts import DEEP


@pytest.mark.timeout(0 if DEEP else 300)
@pytest.mark.parametrize("name", TARGETS)
def test_it_holds_for_any_bytes(name: str) -> None:
    @settings(max_examples=10_000 if DEEP else 50, suppress_health_check=list(HealthCheck))
    @given(st.binary(max_size=300))
    def holds(data: bytes) -> None:
        TARGETS[name](data)

    holds()
