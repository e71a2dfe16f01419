"""What the options and the file say, and the sentence for each thing that is wrong."""

import sys
from datetime import timedelta
from pathlib import Path

import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from toolmend.config import settings
from toolmend.config.option_names import LIMITS
from toolmend.config.retention import Keep
from toolmend.config.settings import Settings, SettingsError, parse, spelled
from toolmend.config.targets import Targets
from toolmend.dialects import DIALECTS
from toolmend.pipeline.settings import MendSettings, Off

OFF = {"flows": "off"}
HOSTS = "llm.example.com, *.corp.example:8443 or localhost:8000"
NAMES = ", ".join(DIALECTS)
KEYS = ", ".join((*settings.KEYS, "provider", "route", "dialect", "price"))
POLICIES = "mixed, first, collect, drain"

RIGHT = [
    ({}, Settings()),
    ({"hosts": "", "dialects": "", "config": ""}, Settings()),
    ({"hosts": "llm.example.com"}, Settings(hosts=("llm.example.com",))),
    (
        {"hosts": " LLM.example.com, *.corp.example:8443 localhost:8000,[::1]:80 ,localhost:8000"},
        Settings(hosts=("llm.example.com", "*.corp.example:8443", "localhost:8000", "[::1]:80")),
    ),
    (
        {"hosts": "::1 gpu? 10.0.0.* * under_score a.example."},
        Settings(hosts=("::1", "gpu?", "10.0.0.*", "*", "under_score", "a.example.")),
    ),
    ({"dialects": "auto"}, Settings(dialects=None)),
    ({"dialects": "OFF"}, Settings(dialects=())),
    ({"dialects": " Kimi_K2,kimi_k2 "}, Settings(dialects=("kimi_k2",))),
    ({"keep": "2GB, 30D"}, Settings(keep=Keep(2 * 10**9, timedelta(days=30)))),
    ({"keep": "all"}, Settings(keep=Keep())),
    ({"replay": ".", "replay_miss": "FORWARD"}, Settings(replay=Path(), replay_miss="forward")),
    ({"replay": "off", "replay_miss": ""}, Settings()),
    ({"policy": " First "}, Settings(policy="first")),
    ({"mode": "Observe", "intercept": "ALL"}, Settings(mode="observe", intercept="all")),
    (
        {"off": "Finish_Reason, api.openai.com kimi_k2 gpu1:8000"},
        Settings(off=Off(frozenset({"finish_reason", "kimi_k2"}), ("api.openai.com", "gpu1:8000"))),
    ),
    ({"metrics": "9464 otel"}, Settings(metrics=Targets(("127.0.0.1", 9464), otel=True))),
    (
        {"policy": "", "max_calls": "", "collect_ms": "", "max_bytes": ""},
        Settings(policy="mixed", max_calls=8, collect_ms=200, max_bytes=65536),
    ),
    (
        {"policy": "collect", "max_calls": "1", "collect_ms": "5000", "max_bytes": "999999999"},
        Settings(policy="collect", max_calls=1, collect_ms=5000, max_bytes=999_999_999),
    ),
]

WRONG = [
    (
        {"hosts": "https://me@llm.example.com/v1"},
        "toolmend_hosts: 'https://me@llm.example.com/v1' is a URL or a path, write the host alone: llm.example.com",
    ),
    (
        {"hosts": "a.example llm.example.com/v1"},
        "toolmend_hosts: 'llm.example.com/v1' is a URL or a path, write the host alone: llm.example.com",
    ),
    ({"hosts": "/v1"}, "toolmend_hosts: '/v1' is a URL or a path, write the host alone: llm.example.com"),
    *(
        (
            {"hosts": wrong},
            f"toolmend_hosts: '{wrong}' is not a host, write it as in {HOSTS}",
        )
        for wrong in (
            "a.example:http",
            "a.example:",
            "a.example:0",
            "a.example:65536",
            ":80",
            "a..b",
            "[a-z].example",
            "-$",
            "[::1]x",
        )
    ),
    (
        {"dialects": "kimi_k22"},
        "toolmend_dialects: no such dialect: 'kimi_k22' (did you mean kimi_k2?), write auto, known, off, or some of: "
        + NAMES,
    ),
    ({"dialects": "none"}, "toolmend_dialects: no such dialect: 'none' (did you mean known?), write auto, known, off, or some of: " + NAMES),
    ({"dialects": "auto kimi_k2"}, "toolmend_dialects: 'auto' stands alone, write either auto or names of dialects"),
    ({"dialects": "kimi_k2,off"}, "toolmend_dialects: 'off' stands alone, write either off or names of dialects"),
    (
        {"flows": "false"},
        "toolmend_flows: 'false' is neither off nor a folder, write off, or ./false for a folder of that name",
    ),
    (
        {"flows": "Yes"},
        "toolmend_flows: 'Yes' is neither off nor a folder, write off, or ./Yes for a folder of that name",
    ),
    (
        {"flows": "~nobody-of-this-name/x"},
        "toolmend_flows: the home folder in '~nobody-of-this-name/x' is not known, write the whole path",
    ),
    ({"flows": "a\0b"}, "toolmend_flows: 'a\\x00b' contains a NUL character, write a path without it"),
    (
        {"keep": "500MB forever"},
        "toolmend_keep: 'forever' is neither a size nor an age, write both as in 500MB 14d, or write all",
    ),
    (
        {"replay": "no-such-folder"},
        "toolmend_replay: no such folder: 'no-such-folder', write the name of a folder of recordings, or off",
    ),
    ({"replay": "a\0b"}, "toolmend_replay: 'a\\x00b' contains a NUL character, write a path without it"),
    (
        {"replay_miss": "foward"},
        "toolmend_replay_miss: no such value: 'foward' (did you mean forward?), write one of: fail, forward",
    ),
    (
        {"policy": "frist"},
        "toolmend_policy: no such policy: 'frist' (did you mean first?), write one of: " + POLICIES,
    ),
    ({"metrics": "on"}, "toolmend_metrics: 'on' is not an address, write 127.0.0.1:9464, otel, both, or off"),
    ({"mode": "watch"}, "toolmend_mode: no such mode: 'watch', write one of: mend, observe"),
    ({"intercept": "none"}, "toolmend_intercept: no such value: 'none', write one of: llm, all"),
    ({"policy": "all"}, "toolmend_policy: no such policy: 'all', write one of: " + POLICIES),
    *(
        ({name: wrong}, f"toolmend_{name}: '{wrong}' is not a limit, write a whole number above 0, as in {default}")
        for name, default in {"max_calls": 8, "collect_ms": 200, "max_bytes": 65536}.items()
        for wrong in ("0", "-1", "many", "1.5", "8 calls", "1" * 10, "\u0663")
    ),
]

FILES_RIGHT = [
    ("", Settings()),
    ('hosts = ["a.example", "b.example:80"]', Settings(hosts=("a.example", "b.example:80"))),
    ("hosts = []", Settings()),
    ('dialects = "off"', Settings(dialects=())),
    ('dialects = ["kimi_k2"]', Settings(dialects=("kimi_k2",))),
    ('dialects = ""', Settings()),
    ('keep = "7d"', Settings(keep=Keep(None, timedelta(days=7)))),
    ('replay = "off"\nreplay_miss = "forward"', Settings(replay_miss="forward")),
    ('policy = "drain"\nmax_bytes = 100', Settings(policy="drain", max_bytes=100)),
    ('mode = "observe"\nintercept = "all"', Settings(mode="observe", intercept="all")),
    ('off = "role"', Settings(off=Off(frozenset({"role"})))),
    ('off = ["role", "*.example"]', Settings(off=Off(frozenset({"role"}), ("*.example",)))),
    ("off = []", Settings()),
    ('metrics = "9464"', Settings(metrics=Targets(("127.0.0.1", 9464)))),
    ('policy = ""\nmax_calls = 3\ncollect_ms = 1', Settings(max_calls=3, collect_ms=1)),
]

FILES_WRONG = [
    # the file, and the sentence behind "<file>:"
    (
        'hosts = ["a.example"]\n\nhost = ["b.example"]\n',
        "3: host is not a setting (did you mean hosts?), write one of: " + KEYS,
    ),
    ('# flow = 1\n"flow" = "x"\n', "2: flow is not a setting (did you mean flows?), write one of: " + KEYS),
    (
        'toolmend_flows = "x"\n',
        "1: toolmend_flows is not a setting (did you mean flows?), write one of: " + KEYS,
    ),
    ("\n[toolmend]\nhosts = []\n", "2: toolmend is not a setting, write one of: " + KEYS),
    ('config = "x.toml"\n', "1: config is not a setting, write one of: " + KEYS),
    ('hosts = "a.example"\n', "1: hosts: 'a.example' is not understood, write hosts = [\"llm.example.com\"]"),
    ("hosts = [1]\n", '1: hosts: [1] is not understood, write hosts = ["llm.example.com"]'),
    (
        '\n\nhosts = ["a.example:x"]\n',
        "3: hosts: 'a.example:x' is not a host, write it as in " + HOSTS,
    ),
    ("dialects = []\n", '1: dialects: [] is not understood, write dialects = "auto", "known", "off", or ["kimi_k2"]'),
    ("dialects = true\n", '1: dialects: True is not understood, write dialects = "auto", "known", "off", or ["kimi_k2"]'),
    (
        'dialects = ["kimi_k22"]\n',
        "1: dialects: no such dialect: 'kimi_k22' (did you mean kimi_k2?), write auto, known, off, or some of: " + NAMES,
    ),
    ("flows = false\n", '1: flows: False is not understood, write flows = "recordings", or "off"'),
    ("off = true\n", '1: off: True is not understood, write off = ["finish_reason", "api.openai.com"]'),
    ("mode = false\n", '1: mode: False is not understood, write mode = "mend", or "observe"'),
    ('"a\\u001b[2J" = 1\n', "1: 'a\\x1b[2J' is not a setting, write one of: " + KEYS),
    ("keep = 14\n", '1: keep: 14 is not understood, write keep = "500MB 14d", or "all"'),
    ('keep = "x"\n', "1: keep: 'x' is neither a size nor an age, write both as in 500MB 14d, or write all"),
    ("policy = 1\n", '1: policy: 1 is not understood, write policy = "mixed", "first", "collect", or "drain"'),
    ('policy = "x"\n', "1: policy: no such policy: 'x', write one of: " + POLICIES),
    ("\nmax_calls = 0\n", "2: max_calls: '0' is not a limit, write a whole number above 0, as in 8"),
    ('max_calls = "8"\n', "1: max_calls: '8' is not understood, write max_calls = 8"),
    ("collect_ms = true\n", "1: collect_ms: True is not understood, write collect_ms = 200"),
    ("max_bytes = 1.5\n", "1: max_bytes: 1.5 is not understood, write max_bytes = 65536"),
]


@pytest.mark.parametrize(("values", "right"), RIGHT)
def test_right(values: dict[str, str], right: Settings) -> None:
    assert parse(OFF | values) == right


@pytest.mark.parametrize(("values", "sentence"), WRONG)
def test_wrong(values: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError) as raised:
        parse(OFF | values)
    assert str(raised.value) == sentence


@pytest.mark.parametrize(("text", "right"), FILES_RIGHT)
def test_file_right(text: str, right: Settings, tmp_path: Path) -> None:
    file = tmp_path / "toolmend.toml"
    file.write_text(text)
    assert parse(OFF | {"config": str(file)}) == right


@pytest.mark.parametrize(("text", "sentence"), FILES_WRONG)
def test_file_wrong(text: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "toolmend.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as raised:
        parse({"config": str(file)})
    assert str(raised.value) == f"{file}:{sentence}"


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    bad, binary = tmp_path / "bad.toml", tmp_path / "binary.toml"
    bad.write_text("hosts = [\n")
    binary.write_bytes(b"\xff\xfe")
    for path, words in {
        tmp_path / "none.toml": "toolmend_config: no such file: '{}', write the path of a TOML file",
        tmp_path: "toolmend_config: '{}' cannot be read (Is a directory), write the path of a TOML file",
        bad: "{}:2:1: it is not TOML, correct it: Invalid value",
        binary: "toolmend_config: '{}' is not UTF-8, save it as a UTF-8 text",
    }.items():
        with pytest.raises(SettingsError) as raised:
            parse({"config": str(path)})
        assert str(raised.value) == words.format(path)


def test_an_option_beats_the_file(tmp_path: Path) -> None:
    file = tmp_path / "toolmend.toml"
    file.write_text('hosts = ["a.example"]\ndialects = "off"\nflows = "recordings"\n')
    assert parse({"config": str(file)}) == Settings(hosts=("a.example",), dialects=(), flows=tmp_path / "recordings")
    options = {"config": str(file), "hosts": "b.example", "dialects": "auto", "flows": "off"}
    assert parse(options) == Settings(hosts=("b.example",))


def test_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert parse({"flows": "recordings"}).flows == Path("recordings")
    assert parse({"flows": "~/recordings"}).flows == tmp_path / "recordings"
    assert parse({"flows": "./off"}).flows == Path("off")
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match=r"'~/file' is a file, write the name of a folder, or off"):
        parse({"flows": "~/file"})
    for name, what in {"flows": ".*File name too long", "replay": "no such folder"}.items():
        with pytest.raises(SettingsError, match=f"^toolmend_{name}: {what}"):
            parse({name: "a" * 5000})
    config = tmp_path / "toolmend.toml"
    for flows, folder in {
        "off": None,
        "~/x": tmp_path / "x",
        "/x": Path("/x"),
        "": tmp_path / "share/toolmend/flows",
    }.items():
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
        config.write_text(f'flows = "{flows}"')
        assert parse({"config": str(config)}).flows == folder


@pytest.mark.parametrize("xdg", ["", "  ", "relative/x", "/elsewhere"])
@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_the_default_folder_is_the_one_platformdirs_names(
    platform: str, xdg: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", xdg)
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    monkeypatch.setattr(sys, "platform", platform)
    theirs = {
        "linux": Unix("toolmend").user_data_path,
        "darwin": MacOS("toolmend").user_data_path,
        "win32": tmp_path / "local" / "toolmend",  # platformdirs asks Windows itself, for what the variable says
    }
    assert parse({}).flows == theirs[platform] / "flows"


def test_no_home_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(SettingsError, match=r"^toolmend_flows: no home folder is known .* or to off$"):
        parse({})


@pytest.mark.parametrize("text", ["auto", "known", "off", "kimi_k2"])
def test_spelled_is_what_parse_reads(text: str) -> None:
    assert spelled(parse(OFF | {"dialects": text})) == text


@pytest.mark.parametrize("values", [{}, {"dialects": "kimi_k2"}, {"policy": "collect", "max_calls": "3"}, {"mode": "observe", "off": "role"}])
def test_what_is_recorded_is_what_a_replay_sets(values: dict[str, str]) -> None:
    told = settings.recorded(parse(OFF | values))
    assert parse(OFF | told) == parse(OFF | values)
    assert ("policy" in told) == ("policy" in values)


def test_the_limits_have_one_default() -> None:
    assert {name: getattr(MendSettings(), name) for name in LIMITS} == LIMITS
