"""How mitmproxy's hooks reach its addons: those that have the hook are called, and the others are not asked at all.

    mitmproxy    some forty addons, each in a context and a coroutine of its own, for each hook and for the `update` behind it
    here         the same calls in the same order, of the few that there is something to call of; mitmproxy's own are asked once

A request and its answer have eight such rounds, six of them before the first byte of the answer: half a millisecond of it, where
the machine has been idle. And each line of mitmproxy's log has one, seven lines for a stream on connections of its own.

Rule of this file: it reaches into mitmproxy. Where that is not as it is known, mitmproxy does as it does.
"""

from contextlib import suppress

from mitmproxy.addonmanager import AddonManager, safecall
from mitmproxy.exceptions import AddonHalt
from mitmproxy.hooks import Hook


def shorten(addons: AddonManager) -> None:
    """Has these addons be called so from now on."""
    asked: dict[str, tuple[list[object], list[object]]] = {}  # of a hook: the addons there were then, and those that may have it

    def those_with(hook: str) -> list[object]:
        were, few = asked.get(hook, (None, []))
        if were != addons.chain:
            few = [addon for addon in addons.chain if _may_have(addon, hook)]
            asked[hook] = list(addons.chain), few
        return few

    async def trigger_event(event: Hook) -> None:
        left = iter(those_with(event.name))
        with suppress(AddonHalt):
            while True:
                with safecall():  # where one fails, those behind it are called
                    for addon in left:
                        await addons.invoke_addon(addon, event)
                    return

    def trigger(event: Hook) -> None:
        left = iter(those_with(event.name))
        with suppress(AddonHalt):
            while True:
                with safecall():
                    for addon in left:
                        addons.invoke_addon_sync(addon, event)
                    return

    addons.trigger_event = trigger_event  # type: ignore[method-assign]
    addons.trigger = trigger  # type: ignore[method-assign]


def restore(addons: AddonManager) -> None:
    """Undoes that."""
    for name in ("trigger_event", "trigger"):
        with suppress(AttributeError):
            delattr(addons, name)


def is_own(addon: object) -> bool:
    """Whether an addon is mitmproxy's own: it has what its class has, from the beginning."""
    return type(addon).__module__.startswith("mitmproxy.")


def _may_have(addon: object, hook: str) -> bool:
    """Whether an addon has a hook, or may have it one day."""
    return not is_own(addon) or hasattr(addon, hook) or hasattr(addon, "addons")
