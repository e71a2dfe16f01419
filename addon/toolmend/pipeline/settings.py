"""The settings that decide what the client gets of an answer: what a pipeline reads of all the user's settings.

`config.settings.Settings` extends these with what the proxy, the recorder and the command line read.
"""

from collections.abc import Iterable

from ..core.fastclass import value
from ..dialects.own import OwnDialect
from ..providers.hosts import fits, split_port
from ..providers.model_profiles import Profile


@value
class Off:
    """Rules and hosts that are left alone. `rules`: names. `hosts`: globs."""

    rules: frozenset[str] = frozenset()
    hosts: tuple[str, ...] = ()

    def leaves(self, host: str) -> bool:
        """Whether the answers of a host are left alone; it may carry a port."""
        return any(self._of(host))

    def said_of(self, host: str) -> str:
        """As the option says it, with no other host than this one: what a recording keeps."""
        return " ".join((*sorted(self.rules), *self._of(host)))

    def _of(self, host: str) -> Iterable[str]:
        name, port = split_port(host)
        return (glob for glob in self.hosts if fits(name, port, glob))


NOTHING_OFF = Off()


@value
class MendSettings:
    """`dialects`: None is auto, () is off, names are exactly these. `providers`: the user's profiles, before the built-in ones.

    `policy`: mixed, first, collect or drain; its limits are of a response, in calls, milliseconds and bytes. `off`: what is left
    alone. `strangers`: of models of which nothing is known, the ambiguous dialects are looked for, too. `own`: the
    user's dialects.
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
