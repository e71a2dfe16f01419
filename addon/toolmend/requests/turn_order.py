"""Normalises the order of turns to one that every upstream accepts.

    assistant [a, b] · user · tool [b] · system        →    assistant [a, b] · tool [a: missing, b] · user [… reminder]

1. The turn after an assistant's calls has their results, one per call, in the order of the calls.
2. A call without a result gets an error result; a result without a call becomes the user's text.
3. Adjacent turns of one role are merged. Where the system turn must come first, there is only one.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import groupby, takewhile
from operator import attrgetter, eq

from ..core.fastclass import replace
from .conversation import Conversation, Document, Image, Part, RefusalPart, TextPart, ToolResult, ToolUse, Turn
from .fields import add_note
from .request_limits import Quirks
from .stand_ins import BEGINNING, CONTINUE, EMPTY, NO_RESULT, REMINDER

_OF_SYSTEM = attrgetter("of_system")
_SPEAKER = attrgetter("role", "name")


def normalised(conversation: Conversation, quirks: Quirks, notes: list[str], *, system_inside: bool) -> Conversation:
    """Returns the conversation with its turns in order.

    Args:
        conversation: The conversation.
        quirks: What the upstream accepts.
        notes: Collects what was added.
        system_inside: Whether system turns may follow other turns; otherwise later ones become the user's text.
    """
    turns = conversation.turns
    if not quirks.blank:
        turns = tuple(replace(turn, parts=tuple(_not_blank(turn.parts))) for turn in turns)
        if conversation.turns and not any(turn.parts for turn in turns):
            add_note(notes, "The message of the user is empty: this upstream wants some text")
            turns = (Turn("user", (TextPart(EMPTY),)),)
    if not system_inside:
        turns = tuple(_reminders(turns))
    turns = tuple(_merged(_with_results(tuple(_merged(turns)), notes)))
    if quirks.needs_user and turns and not any(turn.role == "user" for turn in turns):
        add_note(notes, "A message of the user is added: this upstream wants one")
        count = len(list(takewhile(_OF_SYSTEM, turns)))
        turns = (*turns[:count], Turn("user", (TextPart(BEGINNING),)), *turns[count:])
    if turns and not quirks.prefill and turns[-1].role == "assistant":
        add_note(notes, "A message of the user is added at the end: this model continues no message of its own")
        turns = (*turns, Turn("user", (TextPart(CONTINUE),)))
    return replace(conversation, turns=turns)


def place_system_turns(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Returns the turns with system turns only where Messages accepts them: after a user turn, and last or before an assistant.

    Other system turns become the user's text. Leading ones stay; Messages has a separate field for these.
    """
    leading = list(takewhile(_OF_SYSTEM, turns))
    ordered: list[Turn] = []
    rest = turns[len(leading) :]
    for at, turn in enumerate(rest):
        after = next((other for other in rest[at + 1 :] if not other.of_system), None)
        before = ordered[-1] if ordered else None
        legal = before is not None and before.role in ("user", "tool") and (after is None or after.role == "assistant")
        if not turn.of_system:
            ordered.append(turn)
        elif before is not None and before.of_system:
            ordered[-1] = replace(before, parts=(*before.parts, *turn.parts))
        else:
            ordered.append(turn if legal else Turn("user", tuple(map(_reminder, turn.parts))))
    return (*leading, *_merged(ordered))


def _not_blank(parts: Sequence[Part]) -> Iterable[Part]:
    """The parts without text that is only white space, which upstreams refuse."""
    for part in parts:
        if isinstance(part, TextPart | RefusalPart) and not part.text.strip():
            continue
        yield replace(part, parts=tuple(_not_blank(part.parts))) if isinstance(part, ToolResult) else part


def _reminders(turns: Sequence[Turn]) -> Iterable[Turn]:
    """Later system turns as the user's reminders: the templates of Qwen 3.5, Mistral and others refuse or ignore them."""
    leading = list(takewhile(_OF_SYSTEM, turns))
    if leading:
        yield _as_one(leading)
    for turn in turns[len(leading) :]:
        if turn.of_system:
            yield Turn("user", tuple(map(_reminder, turn.parts)))
        else:
            yield turn


def _reminder(part: Part) -> Part:
    return TextPart(REMINDER.format(part.text), part.cache) if isinstance(part, TextPart) else part


def _as_one(turns: Sequence[Turn]) -> Turn:
    return replace(turns[0], parts=tuple(part for turn in turns for part in turn.parts))


def _merged(turns: Iterable[Turn]) -> Iterable[Turn]:
    """Merges adjacent turns of one role and name, except system turns, and drops empty turns."""
    filled = [turn for turn in turns if turn.parts]
    roles = [turn.role for turn in filled]
    if not any(map(eq, roles, roles[1:])):  # the usual case
        yield from filled
        return
    for _, group in groupby(filled, _SPEAKER):
        adjacent = list(group)
        if len(adjacent) == 1 or adjacent[0].of_system:
            yield from adjacent
        else:
            yield _as_one(adjacent)


def _with_results(turns: tuple[Turn, ...], notes: list[str]) -> Iterable[Turn]:
    """The turns with each assistant's results in the next turn."""
    results: dict[int, ToolResult] = {}  # by the identity of the call
    waiting: dict[str, deque[ToolUse]] = {}  # id → calls without a result, latest turn first: many models restart ids at 0
    orphans: set[int] = set()
    for turn in turns:
        if turn.role == "assistant":
            for call in reversed(_calls(turn)):
                waiting.setdefault(call.id, deque()).appendleft(call)
        elif turn.role == "tool":
            for part in turn.parts:
                assert isinstance(part, ToolResult)
                if unanswered := waiting.get(part.id):
                    results[id(unanswered.popleft())] = part
                else:
                    orphans.add(id(part))
    for turn in turns:
        if turn.role == "tool":
            kept = [text for part in turn.parts if id(part) in orphans for text in _orphan(part, notes)]
            if kept:
                yield Turn("user", tuple(kept))
            continue
        yield turn
        if turn.role == "assistant" and (calls := _calls(turn)):
            yield Turn("tool", tuple([results.get(id(call)) or _missing(call, notes) for call in calls]))


def _calls(turn: Turn) -> list[ToolUse]:
    return [part for part in turn.parts if isinstance(part, ToolUse)]


def _missing(call: ToolUse, notes: list[str]) -> ToolResult:
    add_note(notes, f"The call {call.id} of {call.name} had no result: it was given one that says so")
    return ToolResult(call.id, (TextPart(NO_RESULT),), is_error=True, kind=call.kind)


def _orphan(part: Part, notes: list[str]) -> list[TextPart | Image | Document]:
    assert isinstance(part, ToolResult)
    add_note(notes, f"The result {part.id} has no call: it became text of the user")
    head = "Error of a tool:" if part.is_error else "Result of a tool:"
    return [TextPart(head), *part.parts]
