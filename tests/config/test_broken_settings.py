"""Settings that are wrong in every way there is: the start is refused, and the sentence says why. Never silently inactive (R22).

Some of these stand in tests/e2e/test_settings_start.py, too, before a real mitmdump.
"""

import logging
import os
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import exceptions
from mitmproxy.test import taddons

from tests.support.routes import CHAT, MESSAGES, table
from toolmend.config.option_names import VARIABLES
from toolmend.proxy.addon import Toolmend

ROUTE = {"from": MESSAGES, "to": CHAT}

OPTIONS: dict[str, tuple[list[str], str]] = {
    # name: (--set ..., what is said)
    "a dialect that is none": (["toolmend_dialects=kimi_k22"], "toolmend_dialects: no such dialect: 'kimi_k22' (did you mean kimi_k2?)"),
    "auto and more": (["toolmend_dialects=auto,glm"], "toolmend_dialects: 'auto' stands alone"),
    "a URL for a host": (["toolmend_hosts=https://a.example/v1"], "toolmend_hosts: 'https://a.example/v1' is a URL or a path, write the host alone"),
    "a port that is none": (["toolmend_hosts=a.example:http"], "toolmend_hosts: 'a.example:http' is not a host"),
    "a folder that is a word": (["toolmend_flows=true"], "toolmend_flows: 'true' is neither off nor a folder"),
    "a folder that is a file": ([f"toolmend_flows={__file__}"], "is a file, write the name of a folder"),
    "a limit that is a word": (["toolmend_max_calls=many"], "toolmend_max_calls: 'many' is not a limit"),
    "a number that mitmproxy would swallow": (["toolmend_collect_ms=1e3"], "toolmend_collect_ms: '1e3' is not a limit"),
    "a policy": (["toolmend_policy=frist"], "toolmend_policy: no such policy: 'frist' (did you mean first?)"),
    "a mode": (["toolmend_mode=dry"], "toolmend_mode: no such mode: 'dry'"),
    "a rule that is none": (["toolmend_off=finish"], "toolmend_off: 'finish' is neither a rule"),
    "an interception": (["toolmend_intercept=yes"], "toolmend_intercept: no such value: 'yes'"),
    "retention": (["toolmend_keep=forever"], "toolmend_keep: 'forever' is neither a size nor an age"),
    "metrics": (["toolmend_metrics=prometheus"], "toolmend_metrics: 'prometheus' is not an address"),
    "recordings that are not there": (["toolmend_replay=/no/such/folder"], "toolmend_replay: no such folder: '/no/such/folder'"),
    "a name with a slip": (["toolmend_dialect=auto"], "no such option: toolmend_dialect (did you mean toolmend_dialects?), the options are "),
    "a name that is none": (["toolmend_xyz=1"], "no such option: toolmend_xyz"),
    "a prefix with a slip": (["toolmnd_dialects=off"], "no such option: toolmnd_dialects (did you mean toolmend_dialects?)"),
    "a prefix in capitals": (["TOOLMEND_DIALECTS=off"], "no such option: TOOLMEND_DIALECTS (did you mean toolmend_dialects?)"),
    "set twice": (["toolmend_hosts=a.example", "toolmend_hosts=b.example"], "toolmend_hosts is set 2 times"),
    "set to nothing": (["toolmend_dialects"], "toolmend_dialects is set to nothing"),
    "a file that is not there": (["toolmend_config=/no/such/file.toml"], "toolmend_config: no such file: '/no/such/file.toml'"),
    "a file that is a folder": (["toolmend_config=/"], "toolmend_config: '/' cannot be read (Is a directory)"),
}

FILES: dict[str, tuple[str, str]] = {
    # name: (the file, what is said behind its name)
    "no TOML": ("hosts = [\n", ":2:1: it is not TOML"),
    "a key with a slip": ('host = ["a.example"]\n', ":1: host is not a setting (did you mean hosts?)"),
    "a table of settings": ("[toolmend]\n", ":1: toolmend is not a setting"),
    "a type": ('hosts = "a.example"\n', ":1: hosts: 'a.example' is not understood"),
    "a number in quotes": ('max_calls = "8"\n', ":1: max_calls: '8' is not understood"),
    "a truth": ("flows = false\n", ":1: flows: False is not understood"),
    "a provider without a name": ('[[provider]]\nmodels = ["a"]\n', ":1: provider: it has no name"),
    "a provider of nothing": ('[[provider]]\nname = "a"\n', ":1: provider: 'a' is for no model and no host"),
    "a provider with a dialect that is none": ('[[provider]]\nname = "a"\nmodels = ["a"]\ndialects = ["kimi"]\n', ":4: dialects: no such dialect: 'kimi'"),
    "a provider with a field that is none": ('[[provider]]\nname = "a"\nmodels = ["a"]\nthink = true\n', ":4: think is not a field of a provider"),
    "a provider in one table": ('[provider]\nname = "a"\n', ":1: provider: {'name': 'a'} is not a list of tables"),
    "a route without from": (f'[[route]]\nto = "{CHAT}"\n', ":1: route: it has no from"),
    "a route without to": (f'[[route]]\nfrom = "{MESSAGES}"\n', ":1: route: it has no to"),
    "a route to a name": (table(to="openrouter"), ":3: to: 'openrouter' is not a URL"),
    "a route to a file": (table(to="file:///etc/passwd"), ":3: to: 'file:///etc/passwd' is not a URL"),
    "a route from nothing that can be routed": (table(**{"from": "https://a.example/v1/embeddings"}), ":2: from: the path of "),
    "a route to an API that is not told": (table(to="https://a.example/v2"), ":3: to: the path of "),
    "a route with an API that is none": (table(api="openai"), ":4: api: 'openai' is not understood"),
    "a route with a key in it": (table(key="sk-or-0123456789abcdef"), ":4: key: a key is never written here itself"),
    "a route with a key in the URL": (table(to="https://me:sk-0123456789abcdef@a.example/v1/messages"), ":3: to: the URL contains a key"),
    "a route with a variable that is not set": (table(key="env:NO_SUCH_KEY"), ":4: key: the variable NO_SUCH_KEY is not set"),
    "a route with a key file that others read": (table(key="file:open.txt"), ":4: key: others can read "),
    "a route with a key file that is not there": (table(key="file:none.txt"), ":4: key: "),
    "a route with a template that is none": (table(tools="prompt", template="open.txt"), ":5: template: "),
    "a template without prompted tools": (table(template="open.txt"), ":4: template: a template is for prompted tools only"),
    "a route with a model that is no text": (table() + "model = 4\n", ":4: model: 4 is not understood"),
    "a route with a model that cannot be seen": (table() + 'use_model = "a\\u0007b"\n', ":4: use_model: "),
    "a route that is never reached": (table() + table(), ":4: route: it is never reached, the one at "),
    "a route with a field that is none": (table(usemodel="a"), ":4: usemodel is not a field of a route"),
}

VARIABLE = {
    "a name with a slip": ("TOOLMEND_DIALECT", "off", "no such variable: TOOLMEND_DIALECT (did you mean TOOLMEND_DIALECTS?)"),
    "a value": ("TOOLMEND_POLICY", "last", "TOOLMEND_POLICY: no such policy: 'last'"),
    "a file": ("TOOLMEND_CONFIG", "none.toml", "TOOLMEND_CONFIG: no such file: 'none.toml'"),
}

PROJECT = {
    "a route that nobody named": (table(), "toolmend.toml:1: [[route]] is not taken from a file that only lies in the working directory"),
    "hosts that nobody named": ('hosts = ["evil.example"]\n', "toolmend.toml:1: hosts is not taken"),
    "a slip": ("max_call = 3\n", "toolmend.toml:1: max_call is not a setting (did you mean max_calls?)"),
}

YAML: dict[str, tuple[Any, str]] = {
    # of mitmproxy's config.yaml
    "a truth": (False, "toolmend_flows is False in mitmproxy's config.yaml, which is not text"),
    "nothing": (None, "toolmend_flows is None in mitmproxy's config.yaml, which is not text"),
    "a table": ({"a": 1}, "toolmend_flows is {'a': 1} in mitmproxy's config.yaml, which is not text"),
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "open.txt").write_text("sk-or-0123456789abcdef")
    (tmp_path / "open.txt").chmod(0o644)
    caplog.set_level(logging.ERROR, "toolmend")
    return tmp_path


def refused(caplog: pytest.LogCaptureFixture, *specs: str, **deferred: Any) -> str:
    """What mitmproxy is told at the start; either way it ends: its errorcheck sees to what is logged as an error."""
    with taddons.context() as context:
        folder = () if any(spec.startswith("toolmend_flows") for spec in specs) else ("toolmend_flows=off",)
        context.options.set(*folder, *specs, defer=True)
        context.options.deferred.update(deferred)
        try:
            addon = context.master.addons.register(Toolmend())
            addon.configure(set(context.options.keys()))  # as mitmproxy's script loader does
        except exceptions.OptionsError as error:
            return str(error)
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    return said[0] if said else ""


@pytest.mark.parametrize(("specs", "sentence"), OPTIONS.values(), ids=OPTIONS)
def test_options(specs: list[str], sentence: str, caplog: pytest.LogCaptureFixture) -> None:
    assert sentence in refused(caplog, *specs)


@pytest.mark.parametrize(("text", "sentence"), FILES.values(), ids=FILES)
def test_files(text: str, sentence: str, place: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = place / "own.toml"
    file.write_text(text)
    said = refused(caplog, f"toolmend_config={file}")
    assert said.startswith(f"{file}{sentence}")
    assert "sk-or-0123456789abcdef" not in said


@pytest.mark.parametrize(("name", "value", "sentence"), VARIABLE.values(), ids=VARIABLE)
def test_variables(name: str, value: str, sentence: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv(name, value)
    assert refused(caplog).startswith(sentence)


@pytest.mark.parametrize(("text", "sentence"), PROJECT.values(), ids=PROJECT)
def test_a_file_that_is_found(text: str, sentence: str, place: Path, caplog: pytest.LogCaptureFixture) -> None:
    (place / "toolmend.toml").write_text(text)
    assert refused(caplog).startswith(sentence)
    assert not refused(caplog, "toolmend_config=off")


@pytest.mark.parametrize(("value", "sentence"), YAML.values(), ids=YAML)
def test_values_of_mitmproxys_own_file(value: Any, sentence: str, caplog: pytest.LogCaptureFixture) -> None:
    assert refused(caplog, toolmend_flows=value).startswith(sentence)


@pytest.mark.parametrize(("key", "value", "text"), [("max_calls", 3, "3"), ("hosts", ["a.example", "b.example"], "a.example b.example"), ("mode", "observe", "observe")])
def test_values_that_can_be_read(key: str, value: Any, text: str, caplog: pytest.LogCaptureFixture) -> None:
    with taddons.context() as context:
        context.options.set("toolmend_flows=off", defer=True)
        context.options.deferred[f"toolmend_{key}"] = value
        context.master.addons.register(Toolmend())
        assert getattr(context.options, f"toolmend_{key}") == text
    assert not caplog.records


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_must_not_be_read(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = place / "own.toml"
    file.touch(0o000)
    assert refused(caplog, f"toolmend_config={file}").startswith(f"toolmend_config: {str(file)!r} cannot be read (Permission denied)")


def test_what_is_right_is_not_refused(caplog: pytest.LogCaptureFixture) -> None:
    assert refused(caplog, "toolmend_mode=observe") == ""
