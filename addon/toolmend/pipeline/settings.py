"""The settings that decide what a client receives: the part of the user's settings that a pipeline reads.

`config.settings.Settings` extends these with the settings of the proxy, the recorder and the command line.
"""

from collections.abc import Iterable

from ..core.fastclass import value
from ..dialects.own import OwnDialect
from ..providers.hosts import fits, split_port
from ..providers.model_profiles import Profile


@value
class Off:
    """Rules and hosts that are not corrected. `rules`: names. `hosts`: globs."""

    rules: frozenset[str] = frozenset()
    hosts: tuple[str, ...] = ()

    def covers(self, host: str) -> bool:
        """Whether the answers of a host (with or without a port) are left alone."""
        return any(self._of(host))

    def text_for(self, host: str) -> str:
        """The option's text for a recording: other hosts are left out."""
        return " ".join((*sorted(self.rules), *self._of(host)))

    def _of(self, host: str) -> Iterable[str]:
        name, port = split_port(host)
        return (glob for glob in self.hosts if fits(name, port, glob))


NOTHING_OFF = Off()


@value
class MendSettings:
    """The settings of a pipeline.

    Attributes:
        dialects: None is automatic, () is off, else exactly these names.
        providers: The user's profiles, which precede the built-in ones.
        policy: mixed, first, collect or drain.
        max_calls: Limit of a policy, for one response.
        collect_ms: Limit of a policy in milliseconds.
        max_bytes: Limit of a policy, for one response.
        off: What is left alone.
        strangers: For unknown models, the ambiguous dialects are searched for, too.
        own: The user's dialects.
    """

    dialects: tuple[str, ...] | None = None
    providers: tuple[Profile, ...] = ()
    policy: str = "mixed"
    max_calls: int = 8
    collect_ms: int = 200
    max_bytes: int = 65536
    off: Off = NOTHING_OFF
    strangers: bool = True
    own: tuple[OwnDialect, ...] = ()
