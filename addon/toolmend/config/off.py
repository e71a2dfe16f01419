"""What `toolmend_off` says: which rules stay away from answers, and which hosts' answers are left alone.

    "finish_reason"         a rule, as the log and `toolmend flows` name it; a dialect is one
    "api.openai.com"        a host, a glob, with a port or without: what has a dot, a colon or a star
                            (one of a single word is written with its port: "gpu1:8000")

A rule that is off changes nothing by itself. An event that another rule writes anew is written as it should be, all of it. An
answer of a host that is off passes byte for byte, and is recorded all the same. A route is asked for in so many words: what its
upstream answers is translated, be it off or not, and nothing is looked for in its text.

Rule of this file: what is not understood is an error, never ignored.
"""

from ..dialects import DIALECTS, REASONING_TAGS
from ..pipeline.rules import RULES
from ..pipeline.settings import Off
from .checks import SettingsError, host_globs, suggestion, words

_REASONS = {
    **dict.fromkeys(("hold_limit", "policy_limit"), "it is the bound of what is held, which nothing can do without"),
    **dict.fromkeys(("policy_first", "policy_collect", "policy_drain"), "it is what toolmend_policy asks for, set that to mixed"),
    "reasoning_answer": "it is the answer itself, turn off reasoning_tags, which takes text for reasoning",
    **dict.fromkeys(("stop_sequence", "usage_estimated"), "it is a part of a translation, which a route asks for"),
}
"""Rules that cannot be off."""

NAMES = tuple(sorted({*RULES, *DIALECTS, REASONING_TAGS.name} - {"dialect", *_REASONS}))
"""Rules that can."""


def parse(where: str, text: str) -> Off:
    """What a text says. Raises SettingsError."""
    rules: set[str] = set()
    globs: list[str] = []
    for word in (word.lower() for word in words(text)):
        if word in NAMES:
            rules.add(word)
        elif word in _REASONS:
            raise SettingsError(f"{where}: {word!r} cannot be off: {_REASONS[word]}")
        elif any(mark in word for mark in ".:*") or word == "localhost":
            globs.append(word)
        else:
            hint = suggestion(word, NAMES)
            raise SettingsError(f"{where}: {word!r} is no rule{hint} and no host, the rules are: {', '.join(NAMES)}")
    return Off(frozenset(rules), host_globs(where, " ".join(globs)))
