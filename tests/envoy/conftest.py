"""The Envoy of scripts/test-envoy. Where there is none, these tests skip."""

import os
from pathlib import Path

import pytest

from toolmend.recordings.playback.server import make_certificate


@pytest.fixture(scope="session")
def binary() -> Path:
    named = os.environ.get("ENVOY_BINARY")
    if not named:
        pytest.skip("no Envoy: scripts/test-envoy gets one, or ENVOY_BINARY=/path/to/envoy names one")
    return Path(named)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Of localhost, for the upstream."""
    return make_certificate(tmp_path_factory.mktemp("certificate"))
