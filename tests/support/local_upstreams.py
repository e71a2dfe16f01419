"""A client of the local upstream."""

import ssl
from pathlib import Path

import httpx
import pytest

from toolmend.recordings.playback.server import make_certificate

CHUNKS = ((0.0, b"data: one\n\n"), (0.0, b"data: two\n\n"))
BODY = b"".join(data for _, data in CHUNKS)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


def client(tls: tuple[Path, Path], *, http2: bool) -> httpx.Client:
    return httpx.Client(verify=ssl.create_default_context(cafile=tls[0]), http2=http2, trust_env=False)
