"""Parses `toolmend_off`: rules and hosts that are left alone.

    "finish_reason"         a rule as the log and `toolmend flows` name it; a dialect is one, too
    "api.openai.com"        a host glob, with or without a port: anything with a dot, a colon or a star
                            (a single-label host needs its port: "gpu1:8000")

A disabled rule changes nothing on its own; an event that another rule rewrites is rewritten completely. A response of a disabled
host passes byte for byte, and is still recorded. A route is explicit: its responses are translated even if its upstream is
disabled, but nothing is looked for in their text.
"""

from ..dialects import DIALECTS, REASONING_TAGS
from ..pipeline.rules import RULES
from ..pipeline.settings import Off
from .checks import SettingsError, host_globs, suggestion, words

_REASONS = {
    **dict.fromkeys(("hold_limit", "policy_limit"), "it is the limit of held text, which is always needed"),
    **dict.fromkeys(("policy_first", "policy_collect", "policy_drain"), "toolmend_policy asks for it, set that to mixed"),
    "reasoning_answer": "it is the response itself, turn off reasoning_tags, which takes text for reasoning",
    **dict.fromkeys(("stop_sequence", "usage_estimated"), "it is part of a route's translation"),
}
"""Rules that cannot be disabled."""

NAMES = tuple(sorted({*RULES, *DIALECTS, REASONING_TAGS.name} - {"dialect", *_REASONS}))
"""Rules that can be disabled."""


def parse(where: str, text: str) -> Off:
    """Parses the setting. Raises SettingsError."""
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
            raise SettingsError(f"{where}: {word!r} is neither a rule{hint} nor a host, the rules are: {', '.join(NAMES)}")
    return Off(frozenset(rules), host_globs(where, " ".join(globs)))
