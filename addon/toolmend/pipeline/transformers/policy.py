"""The option `toolmend_policy`: what happens to calls that a model wrote into its text.

    mixed    text flows, calls are sent as they are found; there is no transformer for it
    first    once the first call is complete, what follows is suppressed: text, reasoning and calls, native ones too
    collect  from the first call on all is held, until `collect_ms` have passed, `max_calls` calls are complete, or
             their arguments exceed `max_bytes`; then it is sent at once, and what follows is suppressed
    drain    text is suppressed if there is a call; from the first text or call on all is held, to the choice's end

1. Frames are held and sent whole and in order, and a call that has begun is sent to its end. So a frame that loses nothing
   passes unchanged, a limit never loses held content, and if the pipeline fails, the input is sent.
2. Policies concern calls found in the text (`in_text`). A choice without one is not changed; each choice is separate.
3. The rules are `policy_first`, `policy_collect` or `policy_drain` if something was suppressed, and `policy_limit` if more than
   `max_bytes` would have been held. Then held content is sent. With collect, a call that is too long for the batch streams to its
   end, and is the last (so does a call that is open when the window ends, which is not a fallback: the window bounds how long a
   client waits). With drain, a choice with text but no call is mixed from there on; with a call, text stays suppressed, and calls
   are sent as they are found.
4. The window begins with the first call of the choice, and is checked when data arrives: a stream has no timer.
5. After a complete call an upstream may continue for long. If the caller can end the response (`let_go`), it ends at the first
   content that would be suppressed, with a finish reason and the end of the message, but without the upstream's usage. Otherwise
   the upstream is read to its end: its content is dropped, its usage and its end pass.
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
        """Whether it has ended the response: what still comes is ignored."""

    @property
    def silent(self) -> bool:
        """Whether it holds frames, possibly for long."""

    def feed(self, frame: Frame) -> Sequence[Frame]: ...
    def close(self) -> Sequence[Frame]: ...


def policy_for(
    settings: MendSettings, fired: Callable[[str], None], *, choices: Any, let_go: bool, now: Callable[[], float]
) -> Policy | None:
    """Returns the policy of the settings; None for mixed.

    Args:
        settings: The settings.
        fired: Called with the rules.
        choices: The request's `n`.
        let_go: The response can be ended early.
        now: Returns seconds.
    """
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
