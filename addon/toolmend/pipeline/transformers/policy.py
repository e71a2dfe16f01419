"""What becomes of the calls that a model wrote into its text: `toolmend_policy`.

    mixed    text flows, calls go out as they are found; there is no transformer for it
    first    once the first call is complete, what follows is suppressed: text, reasoning and calls, native ones too
    collect  from the first call on all is held, until `collect_ms` have passed, `max_calls` calls are complete, or
             their arguments are over `max_bytes`; then it goes out at once, and what follows is suppressed
    drain    text is suppressed if there is a call; from the first text or call on all is held, to the choice's end

Rule of this file: frames wait and go out whole and in order, and a call that has begun goes out to its end. So a frame
that loses nothing leaves as it came, what is held is never lost for a limit, and if the pipeline fails it goes out as
it came. The policies concern calls that were found in the text (`in_text`); a choice without one is not changed, and
each choice has its own. They tell `policy_first`, `policy_collect` or `policy_drain` if something was suppressed, and
`policy_limit` if more would have been held than `max_bytes`. Then what is held goes out, and

* collect: a call that is too long for the batch streams on to its end, and is the last. (So does a call that is open
  when the window ends; that is no fallback: the window says how long a client waits.)
* drain: if that was text without a call, the choice is mixed from here on; if there was a call, text stays suppressed,
  and calls go out as they are found.

The window begins with the first call of the choice, and is looked at when data arrives: a stream has no timer.

After a complete call an upstream may go on for long. If the rim can end the response (`let_go`), it is ended at the
first thing that is worth suppressing, with a finish reason and the end of the message of our own, but without the
upstream's usage. If not, the upstream is read to its end: what it says is dropped, its usage and its end pass.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ...core.events import Frame
from ..settings import MendSettings
from .policy_drain import Drain
from .policy_first import Collect, First


class Policy(Protocol):
    """See pipeline/transformers/__init__.py."""

    @property
    def lets_go(self) -> bool:
        """Whether it may end the response early."""

    @property
    def done(self) -> bool:
        """Whether it has: nothing that may still come matters."""

    @property
    def silent(self) -> bool:
        """Whether it holds frames, and may do so for long."""

    def feed(self, frame: Frame) -> Sequence[Frame]: ...
    def close(self) -> Sequence[Frame]: ...


def policy_for(
    settings: MendSettings, fired: Callable[[str], None], *, choices: Any, let_go: bool, now: Callable[[], float]
) -> Policy | None:
    """The policy that is set; None for mixed. `choices`: the request's `n`; `now` tells seconds, of any beginning."""
    ends_at = (choices if isinstance(choices, int) else 1) if let_go else None
    match settings.policy:
        case "first":
            return First(fired, ends_at)
        case "collect":
            return Collect(fired, ends_at, settings, now)
        case "drain":
            return Drain(fired, settings.max_bytes)
        case _:
            return None
