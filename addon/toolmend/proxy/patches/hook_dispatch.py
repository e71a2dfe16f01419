"""Calls only those addons for a hook that define it.

    mitmproxy    about forty addons, each in its own context and coroutine, for each hook and for the `update` after it
    here         the same calls in the same order, but only to addons that may have the hook; built-in addons are checked once

Cost: a request and its response trigger eight such rounds, six of them before the first byte of the response: 0.5 ms on an idle
machine. Each line of mitmproxy's log triggers another, seven lines for a stream on its own connections.
Version: mitmproxy 12.2 and 12.3 (`AddonManager.trigger_event`, `trigger`, `invoke_addon`, `invoke_addon_sync`).
Obsolete when: mitmproxy skips addons without the hook.
If mitmproxy differs, its own methods are used.
"""

from contextlib import suppress

from mitmproxy.addonmanager import AddonManager, safecall
from mitmproxy.exceptions import AddonHalt
from mitmproxy.hooks import Hook


def install(addons: AddonManager) -> None:
    """Replaces both trigger methods of this addon manager."""
    cache: dict[str, tuple[list[object], list[object]]] = {}  # hook name → all addons then, those that may have the hook

    def addons_with(hook: str) -> list[object]:
        previous, result = cache.get(hook, (None, []))
        if previous != addons.chain:
            result = [addon for addon in addons.chain if _may_have(addon, hook)]
            cache[hook] = list(addons.chain), result
        return result

    async def trigger_event(event: Hook) -> None:
        remaining = iter(addons_with(event.name))
        with suppress(AddonHalt):
            while True:
                with safecall():  # logs an exception; the loop then goes on with the next addon
                    for addon in remaining:
                        await addons.invoke_addon(addon, event)
                    return

    def trigger(event: Hook) -> None:
        remaining = iter(addons_with(event.name))
        with suppress(AddonHalt):
            while True:
                with safecall():
                    for addon in remaining:
                        addons.invoke_addon_sync(addon, event)
                    return

    addons.trigger_event = trigger_event  # type: ignore[method-assign]
    addons.trigger = trigger  # type: ignore[method-assign]


def restore(addons: AddonManager) -> None:
    """Reverts `install`."""
    for name in ("trigger_event", "trigger"):
        with suppress(AttributeError):
            delattr(addons, name)


def is_builtin(addon: object) -> bool:
    """Returns whether an addon is mitmproxy's own. Its hooks are those of its class and never change."""
    return type(addon).__module__.startswith("mitmproxy.")


def _may_have(addon: object, hook: str) -> bool:
    """Returns whether an addon has a hook, or may get it later."""
    return not is_builtin(addon) or hasattr(addon, hook) or hasattr(addon, "addons")
