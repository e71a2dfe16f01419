"""store_url.py: which URLs are places for recordings, and the sentence for each that is none."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ADDON
from toolmend.config import store_url as module
from toolmend.config.settings import Settings, SettingsError, parse
from toolmend.config.store_url import MissingPackage, StoreUrl, is_url, store_url

RIGHT = {
    "s3://bucket/prefix": "s3://bucket/prefix",
    " S3://Bucket/Pre/fix// ": "s3://Bucket/Pre/fix",
    "memory://x": "memory://x",
    "file:///mnt/recordings": "file:///mnt/recordings",
}
SECRET = "abc/DEF+x"
WRONG = {
    # URL: what the sentence says
    f"s3://AKIA:{SECRET}@bucket/prefix": "s3:// URL with a user and a password",
    f"simplecache::s3://k:{SECRET}@bucket": "URL with a user and a password",
    f"s3://bucket/prefix?secret={SECRET}": "with ? or #",
    f"https://u:{SECRET}@host/x": "URL with a user and a password",
    "s3://": "'s3://' does not name a place in a store, write it as in s3://bucket/prefix",
    "file:///": "'file:///' does not name a place in a store",
    "s3://bucket/../other": "does not name a place in a store",
    "s3://bucket/\x1b[2J": "does not name a place in a store",
    "s4://bucket": "no such store: s4://, write it as in s3://bucket/prefix, or a folder",
    "memry://bucket": "no such store: memry:// (did you mean memory?)",
    "simplecache::s3://bucket": "no such store: simplecache::s3://",
    "https://bucket.s3.example": "nothing can be written to https://",
}


@pytest.mark.parametrize("text", RIGHT)
def test_a_place(text: str) -> None:
    assert is_url(text)
    assert store_url("here", text) == StoreUrl(RIGHT[text])
    assert parse({"flows": text}) == Settings(flows=StoreUrl(RIGHT[text]))


@pytest.mark.parametrize("text", WRONG)
def test_what_is_none_is_said_without_its_secret(text: str) -> None:
    assert is_url(text)
    with pytest.raises(SettingsError) as said:
        parse({"flows": text})
    assert str(said.value).startswith("toolmend_flows: ")
    assert WRONG[text] in str(said.value)
    assert SECRET[:3] not in str(said.value)


@pytest.mark.parametrize("text", ["flows", "./s3://x", "/a/b", "C:\\flows", "off", "~/x", "s3:/x"])
def test_what_is_no_url(text: str) -> None:
    assert not is_url(text)


@pytest.mark.parametrize(
    ("missing", "url", "install"),
    [
        ("fsspec", "s3://bucket", "pip install 'toolmend[store]' s3fs"),
        ("fsspec", "file:///x", "pip install 'toolmend[store]'"),
        ("s3fs", "s3://bucket", "pip install s3fs"),
        ("gcsfs", "gs://bucket", "pip install gcsfs"),
    ],
)
def test_a_package_that_is_missing(missing: str, url: str, install: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == missing else name)
    with pytest.raises(MissingPackage, match=r"toolmend_flows: recordings in \w+:// need a package that is not installed") as said:
        parse({"flows": url})
    assert said.value.install == install
    assert str(said.value).endswith(f", do: {install}")


def test_in_a_file_it_is_no_path(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text('flows = "s3://bucket/prefix"')
    assert parse({"config": str(tmp_path / "x.toml")}).flows == StoreUrl("s3://bucket/prefix")


def test_what_is_played_lies_in_a_folder() -> None:
    with pytest.raises(SettingsError, match=r"toolmend_replay: it has to be a folder, not a URL"):
        parse({"replay": f"s3://k:{SECRET}@bucket"})


def test_without_a_url_nothing_of_it_is_imported() -> None:
    code = (
        "import sys; from mitmproxy.test import taddons; from toolmend.proxy.addon import Toolmend\n"
        "addon = Toolmend()\n"
        "with taddons.context(addon) as ctx: ctx.configure(addon, toolmend_flows=sys.argv[1])\n"
        "late = ('fsspec', 's3fs', *(f'toolmend.recordings.{name}' for name in ('read.store', 'write.spool', 'write.uploading', 'read.secret_scan')))\n"
        "print([name for name in sys.modules if name.startswith(late)])"
    )
    line = [sys.executable, "-c", code, "/nowhere/flows"]
    done = subprocess.run(line, env={"PYTHONPATH": str(ADDON)}, text=True, capture_output=True, check=True)
    assert done.stdout == "[]\n"
