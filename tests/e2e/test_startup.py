"""How mitmdump starts with the addon, refuses to, and reloads it."""

import os
import re
import shutil
import time
from pathlib import Path

import pytest

from tests.e2e.clients import CHAT, LEAK, Raw, Serve, Start, ask, chunks, eventually, parse, recording, request_bytes
from tests.e2e.mended import check
from tests.support.cuts import DEEP
from toolmend.cli.launcher.proxy import Mitmdump, ProxyError, addon_path
from toolmend.recordings.playback.server import Script

WRONG = {
    # name: (option, its value, what the sentence must hold)
    "dialects": ("toolmend_dialects", "kimi_k02", "toolmend_dialects.*kimi_k02.*kimi_k2"),
    "hosts": ("toolmend_hosts", "https://llm.example.com/v1", "toolmend_hosts.*llm.example.com"),
    "flows": ("toolmend_flows", str(Path(__file__)), "toolmend_flows.*folder"),
    "config": ("toolmend_config", "no/such/file.toml", "toolmend_config.*no/such/file.toml"),
    "a name": ("toolmend_dialect", "auto", "toolmend_dialect.*toolmend_dialects"),
}


@pytest.mark.parametrize("name", WRONG if DEEP else ["hosts", "flows"])
def test_a_wrong_value_stops_the_start(confdir: Path, name: str) -> None:
    option, value, sentence = WRONG[name]
    proxy = Mitmdump({option: value}, confdir=confdir)
    with pytest.raises(ProxyError, match=sentence), proxy:
        pass
    assert proxy.returncode == 1


def test_it_says_what_it_does(start: Start, tmp_path: Path) -> None:
    proxy = start()
    assert re.search(f"toolmend: .*localhost.*auto.*{re.escape(str(tmp_path / 'flows'))}", proxy.log)


def test_off_is_off(start: Start, serve: Serve, tmp_path: Path) -> None:
    proxy = start(toolmend_dialects="off", toolmend_flows="off")
    upstream = serve(Script(chunks(LEAK)))
    reply = ask(proxy, upstream.url, Accept_Encoding="gzip")
    assert reply.body == LEAK
    assert upstream.requests[0].header("accept-encoding") == "gzip"
    assert not (tmp_path / "flows").exists()


def test_what_the_options_say_holds_where_the_file_is_wrong_at_a_reload(start: Start, serve: Serve, tmp_path: Path) -> None:
    addon, config = tmp_path / "addon", tmp_path / "toolmend.toml"
    shutil.copytree(addon_path().parent, addon, ignore=shutil.ignore_patterns("__pycache__"))
    config.write_text('dialects = "auto"\n')
    proxy = start([addon / "main.py"], toolmend_config=str(config), toolmend_mode="observe")
    upstream = serve(Script(chunks(LEAK)), Script(chunks(LEAK)), Script(chunks(LEAK)))
    assert ask(proxy, upstream.url).body == LEAK
    for times, text in ((1, "dialects = [[["), (2, 'dialects = "auto"\n')):
        config.write_text(text)
        later = time.time() + 5 * times
        os.utime(addon / "main.py", (later, later))
        eventually(lambda times=times: proxy.log.count("toolmend: observes") > times)
        assert ask(proxy, upstream.url).body == LEAK
    assert str(config) in proxy.log.replace("\n", "")


def test_a_reload_under_a_stream(start: Start, serve: Serve, tmp_path: Path, path: str) -> None:
    """Touching main.py loads the whole package anew; a stream that is under way is finished by the old one."""
    addon = tmp_path / "addon"
    shutil.copytree(addon_path().parent, addon, ignore=shutil.ignore_patterns("__pycache__"))
    proxy = start([addon / "main.py"])
    upstream = serve(Script(chunks(LEAK)[:-8], end="stall"), Script(chunks(LEAK)))
    with Raw(proxy, upstream.url) as raw:
        raw.send(request_bytes(CHAT, host=raw.host, Connection="close"))
        before = raw.read_until(b"city")
        version = addon / "toolmend" / "__init__.py"
        version.write_text(re.sub('__version__ = ".*"', '__version__ = "77.7"', version.read_text()))
        later = time.time() + 5
        os.utime(addon / "main.py", (later, later))
        eventually(lambda: proxy.log.count("Loading script") == 2)
        check(ask(proxy, upstream.url, path=path).body)
        upstream.release()
        reply = parse(before + raw.read_to_end())
    assert reply.terminated
    assert b"get_weather" in reply.body
    assert b"<|" not in reply.body
    assert recording(tmp_path / "flows", path).meta["toolmend"] == "77.7"
    assert proxy.returncode is None
    assert "Traceback" not in proxy.log
