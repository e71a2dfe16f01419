"""Hooks reach the addons that have them, as mitmproxy itself would have it."""

import asyncio
import logging
import re
from types import SimpleNamespace
from typing import Any

import pytest
from mitmproxy.addonmanager import AddonManager
from mitmproxy.addons.script import ScriptLoader
from mitmproxy.exceptions import AddonHalt
from mitmproxy.hooks import Hook, UpdateHook
from mitmproxy.proxy.layers.http import HttpRequestHook
from mitmproxy.test import taddons, tflow

from toolmend.proxy.patches.hook_dispatch import install, restore


class Hostile:
    """Even to look at it fails."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ValueError(name)


def made(told: list[str]) -> dict[str, list[object]]:
    """Addons by what is particular about them; each tells when it is called."""

    def tells(name: str) -> object:
        return SimpleNamespace(name=name, request=lambda _: told.append(name))

    async def later(_: object) -> None:
        await asyncio.sleep(0)
        told.append("later")

    def halts(_: object) -> None:
        told.append("halts")
        raise AddonHalt

    def fails(_: object) -> None:
        told.append("fails")
        raise ValueError("of its own")

    one, last, nothing = tells("one"), tells("last"), SimpleNamespace(name="nothing")
    within = SimpleNamespace(name="within", addons=[nothing, tells("inner"), SimpleNamespace(name="deep", addons=[tells("inmost")])])
    return {
        "none": [],
        "of nobody": [nothing],
        "of some": [nothing, one, nothing, last],
        "within others": [one, within, last],
        "of both": [SimpleNamespace(name="both", request=lambda _: told.append("both"), addons=[tells("inner")]), last],
        "a coroutine": [one, SimpleNamespace(name="later", request=later), last],
        "halts": [one, SimpleNamespace(name="halts", request=halts), last],
        "fails": [one, SimpleNamespace(name="fails", request=fails), last],
        "no function": [one, SimpleNamespace(name="wrong", request=5), last],
        "a module": [one, SimpleNamespace(name="module", request=logging), last],
        "hostile": [one, Hostile(), last],
    }


@pytest.mark.parametrize("case", made([]))
@pytest.mark.parametrize("hook", [HttpRequestHook, UpdateHook, None])
def test_as_mitmproxy_has_it(case: str, hook: type[Hook] | None, caplog: pytest.LogCaptureFixture) -> None:
    """`hook` None: one that is called where nobody can wait for it, as for a line of the log."""

    async def called(addons: AddonManager) -> tuple[list[str], list[str]]:
        told: list[str] = []
        caplog.clear()
        addons.chain = made(told)[case]
        flow = tflow.tflow()
        if hook:
            await addons.handle_lifecycle(hook(flow if hook is HttpRequestHook else [flow]))
        else:
            addons.trigger(HttpRequestHook(flow))
        return told, [re.sub(" at 0x[0-9a-f]+", "", record.getMessage().split("\n")[0]) for record in caplog.records]

    async def both() -> None:
        with taddons.context() as context:
            few, all_ = AddonManager(context.master), AddonManager(context.master)
            install(few)
            assert await called(few) == await called(all_)

    asyncio.run(both())


@pytest.mark.parametrize("name", ["trigger_event", "trigger", "invoke_addon", "invoke_addon_sync"])
def test_mitmproxy_has_the_attributes(name: str) -> None:
    """If one is missing, hooks fail: see hook_dispatch.py."""
    assert callable(getattr(AddonManager, name))


def test_an_addon_that_is_added_or_removed_later() -> None:
    told: list[str] = []
    with taddons.context() as context:
        addons = AddonManager(context.master)
        install(addons)
        one = SimpleNamespace(name="one", request=lambda _: told.append("one"))
        addons.add(one)
        asyncio.run(addons.trigger_event(HttpRequestHook(tflow.tflow())))
        addons.remove(one)
        asyncio.run(addons.trigger_event(HttpRequestHook(tflow.tflow())))
    assert told == ["one"]


def test_a_hook_that_an_addon_has_later() -> None:
    """Of another's addon, and of a script that mitmproxy's own loader has loaded anew."""
    told: list[str] = []
    with taddons.context() as context:
        addons = AddonManager(context.master)
        install(addons)
        one, loader = SimpleNamespace(name="one"), ScriptLoader()
        addons.chain = [one, loader]
        asyncio.run(addons.trigger_event(HttpRequestHook(tflow.tflow())))
        one.request = lambda _: told.append("one")
        loader.addons = [SimpleNamespace(name="script", request=lambda _: told.append("script"))]
        asyncio.run(addons.trigger_event(HttpRequestHook(tflow.tflow())))
    assert told == ["one", "script"]


def test_mitmproxy_is_as_it_was() -> None:
    with taddons.context() as context:
        addons = AddonManager(context.master)
        before = addons.trigger_event, addons.trigger
        restore(addons)  # nothing was changed
        install(addons)
        assert not {addons.trigger_event, addons.trigger} & {*before}
        restore(addons)
        assert (addons.trigger_event, addons.trigger) == before
