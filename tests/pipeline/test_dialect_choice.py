"""dialect_choice.py: which dialects are searched for, in which form, and those that a model was seen to write."""

import pytest

from toolmend.dialects import DIALECTS, OPEN_JSON
from toolmend.dialects.engine.strict_dialect import FOR_UNKNOWN_MODELS, StrictDialect
from toolmend.pipeline.dialect_choice import MAX_SEEN, SeenDialects, armed
from toolmend.providers.model_profiles import Profile

UNKNOWN = Profile("unknown")
QWEN = Profile("qwen", dialects=("hermes",))
UNAMBIGUOUS = {name for name, dialect in DIALECTS.items() if not dialect.ambiguous}


def names(dialects: list[object], *, strict: bool) -> set[str]:
    found = {name for name, dialect in DIALECTS.items() if dialect in dialects}
    return {name for name, dialect in FOR_UNKNOWN_MODELS.items() if dialect in dialects} if strict else found


def test_what_an_unknown_model_may_write() -> None:
    found = armed(None, UNKNOWN)
    assert names([*found], strict=False) >= UNAMBIGUOUS
    assert names([*found], strict=True) == FOR_UNKNOWN_MODELS.keys()


def test_a_profiles_own_are_not_strict() -> None:
    found = armed(None, QWEN)
    assert DIALECTS["hermes"] in found
    assert FOR_UNKNOWN_MODELS["hermes"] not in found


@pytest.mark.parametrize("given", [{"known": True}, {}])
def test_known_dialects_alone(given: dict[str, bool]) -> None:
    profile = QWEN if given else Profile("qwen", dialects=("hermes",), first_party=True)
    found = armed(None, profile, **given)
    assert DIALECTS["hermes"] in found
    assert not any(isinstance(dialect, StrictDialect) for dialect in found)


def test_strict_forms_come_last() -> None:
    kinds = [isinstance(dialect, StrictDialect) and dialect in FOR_UNKNOWN_MODELS.values() for dialect in armed(None, UNKNOWN)]
    assert kinds == sorted(kinds)


def test_the_users_choice_holds() -> None:
    assert armed(["kimi_k2"], QWEN) == [DIALECTS["kimi_k2"]]
    assert armed([], QWEN) == []
    assert armed(["kimi_k2"], QWEN, prompted=True) == [DIALECTS["kimi_k2"], *OPEN_JSON]


def test_a_prompted_model_writes_json() -> None:
    assert {*OPEN_JSON} <= {*armed(None, UNKNOWN, prompted=True)}


def test_what_was_seen_is_learnt() -> None:
    seen = SeenDialects()
    assert seen.of("H.example", "M") == ()
    seen.learn("h.example", "m", ["hermes", "finish_reason", "kimi_k2"])
    seen.learn("H.EXAMPLE", "M", ["glm", "hermes"])
    assert seen.of("h.example", "m") == ("hermes", "glm")  # ambiguous ones alone
    assert seen.of("other.example", "m") == ()


def test_the_last_pairs_are_kept() -> None:
    seen = SeenDialects()
    for at in range(MAX_SEEN + 1):
        seen.learn("h", f"m{at}", ["hermes"])
    assert seen.of("h", "m0") == ()
    assert seen.of("h", f"m{MAX_SEEN}") == ("hermes",)
