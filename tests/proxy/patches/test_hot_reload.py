"""The hooks of a flow run on the addon that began it, and what this takes from mitmproxy."""

from mitmproxy import http
from mitmproxy.test import tflow

from toolmend.proxy.patches.hot_reload import claim, handled_by_owner, release


class Addon:
    """Records the hooks that run on it."""

    def __init__(self) -> None:
        self.handled: list[http.HTTPFlow] = []
        self.adopted: list[Addon] = []
        self.lifecycle = self

    def adopt(self, earlier: "Addon") -> None:
        self.adopted.append(earlier)

    @handled_by_owner  # type: ignore[arg-type]
    def response(self, flow: http.HTTPFlow) -> None:
        self.handled.append(flow)


def test_a_flow_keeps_attributes() -> None:
    """mitmproxy may give its flows slots: see hot_reload.py."""
    flow = tflow.tflow()
    claim([flow], Addon())  # type: ignore[arg-type]
    assert "toolmend" in vars(flow)
    release(flow)
    assert "toolmend" not in vars(flow)


def test_hooks_run_on_the_owner() -> None:
    old, new = Addon(), Addon()
    before, after = tflow.tflow(), tflow.tflow()
    claim([before], old)  # type: ignore[arg-type]
    new.response(before)
    new.response(after)
    assert (old.handled, new.handled, new.adopted) == ([before], [after], [old])


def test_a_released_flow_has_no_owner() -> None:
    old, new, flow = Addon(), Addon(), tflow.tflow()
    claim([flow], old)  # type: ignore[arg-type]
    release(flow)
    new.response(flow)
    assert (old.handled, new.handled) == ([], [flow])
