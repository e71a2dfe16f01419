"""server/certificate.py: a certificate for the local upstream."""

from pathlib import Path

import pytest

from toolmend.recordings.playback.server import Upstream


def test_a_certificate_that_cannot_be_had_is_raised(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), Upstream([], tls=(tmp_path / "none", tmp_path / "none")):
        pass
