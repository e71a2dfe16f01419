"""interception.py: which proxy answers."""

import socket
import threading

import pytest

from tests.support.machines import Box, _no_ca, box
from toolmend.cli.doctor import interception

__all__ = ["box"]


def test_a_proxy_that_is_no_toolmend(box: Box) -> None:
    """Nothing answers a connection that is taken: here it is closed at once."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        def close() -> None:
            for _ in range(3):
                server.accept()[0].close()

        thread = threading.Thread(target=close)
        thread.start()
        box.set(HTTPS_PROXY=f"http://127.0.0.1:{server.getsockname()[1]}")
        (found,) = interception.shell(box.machine)
        thread.join()
    assert found.state == "warning"
    assert "is not toolmend (" in found.text


@pytest.mark.parametrize("ca", [True, False])
def test_a_company_s_proxy(ca: bool, box: Box) -> None:
    """One that is not on this machine is no fault, whatever it is."""
    if not ca:
        _no_ca(box)
    box.patch.setattr("toolmend.cli.doctor.finding.LOOPBACK", ())
    with socket.create_server(("127.0.0.1", 0)) as server:
        box.set(HTTPS_PROXY=f"http://user:password@127.0.0.1:{server.getsockname()[1]}")
        box.patch.setattr(interception, "PATIENCE", 0.2)
        thread = threading.Thread(target=lambda: [server.accept()[0].close() for _ in range(2 + ca)])
        thread.start()
        (found,) = interception.shell(box.machine)
        thread.join()
    assert found.state == "ok"
    assert "is not toolmend, perhaps a company's: toolmend run connects through it" in found.text
    assert "password" not in found.text
