"""options.py: what mitmproxy would accept silently is an error, and routes get the options of mitmproxy that they need."""

from collections.abc import Iterator
from typing import Any

import pytest
from mitmproxy import ctx, exceptions
from mitmproxy.addonmanager import Loader
from mitmproxy.test import taddons

from toolmend.config import options
from toolmend.config.option_names import KEYS
from toolmend.config.settings import SettingsError, load


@pytest.fixture
def context() -> Iterator[taddons.context]:
    with taddons.context(loadcore=False) as context:
        yield context


def declare(context: taddons.context) -> None:
    options.declare(Loader(context.master))


def test_every_key_of_a_file_is_an_option() -> None:
    assert {*options.OPTIONS} == {*KEYS, "config"}


def test_options_are_text_and_empty(context: taddons.context) -> None:
    declare(context)
    assert {getattr(context.options, f"toolmend_{key}") for key in options.OPTIONS} == {""}
    assert options.settings(files=False) == load({"config": "off"})


@pytest.mark.parametrize(
    ("value", "text"),
    [(["a.example", "b.example"], "a.example b.example"), ("a.example", "a.example"), (8000, "8000")],
)
def test_values_of_a_config_yaml_become_text(context: taddons.context, value: Any, text: str) -> None:
    context.options.deferred["toolmend_hosts"] = value
    declare(context)
    assert context.options.deferred["toolmend_hosts"] == text


@pytest.mark.parametrize("value", [True, {"a": 1}, [None], 1.5])
def test_values_that_are_no_text_are_dropped_and_logged(context: taddons.context, caplog: pytest.LogCaptureFixture, value: Any) -> None:
    context.options.deferred["toolmend_hosts"] = value
    declare(context)
    assert context.options.toolmend_hosts == ""
    assert "toolmend_hosts is " in caplog.text
    assert "in mitmproxy's config.yaml, which is not text" in caplog.text


@pytest.mark.parametrize(("given", "words"), [(["--set=toolmend_hosts=a", "toolmend_hosts=b"], "is set 2 times"), ([], "is set to nothing")])
def test_an_option_is_set_once(context: taddons.context, caplog: pytest.LogCaptureFixture, given: list[str], words: str) -> None:
    class Unset:
        val = given

    context.options.deferred["toolmend_hosts"] = Unset()
    declare(context)
    assert f"toolmend_hosts {words}, give it one value" in caplog.text


@pytest.mark.parametrize(("name", "hint"), [("toolmend_host", "toolmend_hosts"), ("tolmend_hosts", "toolmend_hosts"), ("TOOLMEND_HOSTS", "toolmend_hosts")])
def test_unknown_names_are_refused(context: taddons.context, name: str, hint: str) -> None:
    declare(context)
    context.options.deferred[name] = "x"
    with pytest.raises(exceptions.OptionsError) as raised:
        options.settings(files=False)
    assert str(raised.value).startswith(f"no such option: {name}{f' (did you mean {hint}?)' if hint else ''}, the options are ")


def test_names_of_other_addons_are_theirs(context: taddons.context) -> None:
    declare(context)
    context.options.deferred["other_hosts"] = "x"
    assert options.settings(files=False) == load({"config": "off"})


def test_a_wrong_setting_is_an_error_of_options() -> None:
    with pytest.raises(exceptions.OptionsError, match=r"^no$"), options.option_errors():
        raise SettingsError("no")


def test_routes_get_what_they_need(context: taddons.context, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    context.options.add_option("connection_strategy", str, "eager", "")
    context.options.add_option("stream_large_bodies", str | None, "1m", "")
    options.adapt()
    assert (ctx.options.connection_strategy, ctx.options.stream_large_bodies) == ("lazy", None)
    logged = len(caplog.records)
    options.adapt()
    assert (logged, len(caplog.records)) == (2, 2)
