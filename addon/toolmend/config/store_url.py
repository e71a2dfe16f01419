"""URLs of stores for recordings that are not kept on this machine: fsspec URLs in settings and options.

    s3://bucket/prefix      gs://bucket/prefix      file:///mnt/recordings      memory://prefix

No network access, no import of a store. A URL that may contain a password is never quoted.
"""

import re
import sys
from importlib.util import find_spec

from ..core.fastclass import value
from .checks import SettingsError, suggestion

EXTRA = "toolmend[store]"
DRIVERS = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "az": "adlfs"}
"""The packages for the most usual stores, so that they can be named before fsspec is installed."""

READ_ONLY = ("http", "https", "data")

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.:_-]*)://")


@value
class StoreUrl:
    """A place in a store. `url` has no trailing slash and no secret."""

    url: str

    def __str__(self) -> str:
        return self.url

    @property
    def protocol(self) -> str:
        """`s3` of `s3://bucket`."""
        return self.url.partition("://")[0]

    def child(self, path: str) -> str:
        """Returns the URL of a path below."""
        return f"{self.url}/{path}" if path else self.url


class MissingPackage(SettingsError):
    """A store needs a package that is not installed; `install` is the command that installs it."""

    def __init__(self, where: str, protocol: str, *packages: str) -> None:
        self.install = " ".join(["pip", "install", *(f"'{name}'" if "[" in name else name for name in packages)])
        super().__init__(f"{where}: recordings in {protocol}:// need a package that is not installed, do: {self.install}")


def is_url(text: str) -> bool:
    """Whether a text is a URL rather than a path."""
    return bool(_URL.match(text.strip()))


def store_url(where: str, text: str) -> StoreUrl:
    """Checks the URL of a store. Raises SettingsError, MissingPackage."""
    text = text.strip()
    protocol, _, rest = text.partition("://")
    protocol = protocol.lower()
    if ":" in rest.rpartition("@")[0] or {"?", "#"} & {*rest}:  # not by urllib: an S3 key may contain a slash
        raise SettingsError(
            f"{where}: a {protocol}:// URL with a user and a password, or with ? or #, is not accepted, as logs would show it; "
            f"write {protocol}://bucket/prefix, and give the credentials in the store's own way (its variables or files)"
        )
    if not rest.strip("/") or not text.isprintable() or ".." in rest.split("/"):
        raise SettingsError(f"{where}: {text!r} does not name a place in a store, write it as in {protocol}://bucket/prefix")
    if protocol in READ_ONLY:
        raise SettingsError(f"{where}: nothing can be written to {protocol}://, write it as in s3://bucket/prefix, or a folder")
    if sys.platform == "win32":  # no flock
        raise SettingsError(f"{where}: {text!r} is a store, which is not supported on Windows, write the name of a folder")
    _installed(where, protocol)
    return StoreUrl(f"{protocol}://{rest.rstrip('/')}")


def _installed(where: str, protocol: str) -> None:
    driver = DRIVERS.get(protocol)
    if not find_spec("fsspec"):
        raise MissingPackage(where, protocol, EXTRA, *([driver] if driver else []))
    from fsspec.registry import known_implementations, registry  # type: ignore[import-untyped]  # noqa: PLC0415  an extra, and slow

    if protocol in registry:
        return
    if protocol not in known_implementations:
        near = suggestion(protocol, known_implementations)
        raise SettingsError(f"{where}: no such store: {protocol}://{near}, write it as in s3://bucket/prefix, or a folder")
    known = known_implementations[protocol]["class"]
    module = (known if isinstance(known, str) else known.__module__).partition(".")[0]
    if not find_spec(module):
        raise MissingPackage(where, protocol, driver or module)
