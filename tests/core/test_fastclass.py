"""Classes of values: what makes two of them one, and what they say of themselves."""

import dataclasses
from dataclasses import field
from importlib.util import find_spec, module_from_spec
from typing import Any

import pytest

from toolmend.core.fastclass import mutable, replace, value


@value
class Nothing:
    pass


@value
class Text:
    text: str


@value
class Call:
    name: str
    index: int = 0
    seen: list[str] = field(default_factory=list, compare=False, repr=False)


@value
class Custom(Call):
    kind: str = "custom"


@mutable
class Choice:
    name: str
    calls: int = 0
    seen: list[str] = field(default_factory=list)


@pytest.mark.parametrize(
    ("one", "other"),
    [(Nothing(), Nothing()), (Text("a"), Text("a")), (Call("a", 1), Call("a", 1, ["b"])), (Custom("a"), Custom("a"))],
)
def test_values_with_the_same_fields_are_equal(one: object, other: object) -> None:
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Nothing(), None),
        (Text("a"), Text("b")),
        (Text("a"), "a"),
        (Call("a"), Call("a", 1)),
        (Call("a"), Custom("a")),
        (Call("a"), Text("a")),
    ],
)
def test_others_are_not(one: object, other: object) -> None:
    assert one != other
    assert other != one


def test_a_value_tells_its_fields() -> None:
    assert repr(Call("a", 1, ["b"])) == "Call(name='a', index=1)"
    assert repr(Nothing()) == "Nothing()"


@pytest.mark.parametrize(
    ("one", "changes"),
    [
        (Text("a"), {}),
        (Text("a"), {"text": "b"}),
        (Call("a", 1, ["b"]), {"name": "b"}),
        (Call("a"), {"seen": ["c"]}),
        (Custom("a"), {"index": 3, "name": "b"}),
        (Custom("a", 1, ["b"]), {"kind": "function"}),
    ],
)
def test_a_value_can_be_made_of_another(one: Any, changes: dict[str, Any]) -> None:
    """By ours, and as the standard library has it."""
    before = repr(one)
    for made in (replace(one, **changes), dataclasses.replace(one, **changes)):
        assert type(made) is type(one)
        told = {each.name: getattr(made, each.name) for each in dataclasses.fields(one)}
        assert told == {each.name: getattr(one, each.name) for each in dataclasses.fields(one)} | changes
    assert repr(one) == before


def test_a_value_outlives_the_module_that_made_its_class() -> None:
    """As where mitmproxy loads the script anew, and what is under way has its settings."""
    spec = find_spec("toolmend.core.fastclass")
    assert spec
    assert spec.loader
    anew = module_from_spec(spec)
    spec.loader.exec_module(anew)
    assert anew.replace(Call("a", 1), name="b") == Call("b", 1)


def test_a_field_that_is_none_cannot_be_another() -> None:
    with pytest.raises(ValueError, match="other"):
        replace(Text("a"), other=1)


def test_a_value_takes_no_other_attribute() -> None:
    with pytest.raises(AttributeError):
        Text("a").other = 1  # type: ignore[attr-defined]


def test_what_changes_is_equal_to_itself_alone() -> None:
    one, other = Choice("a"), Choice("a")
    assert one == one  # noqa: PLR0124
    assert one != other
    assert len({one, other}) == 2
    one.calls += 1
    assert repr(one) == "Choice(name='a', calls=1, seen=[])"
    with pytest.raises(AttributeError):
        one.other = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("cls", [Call, Choice])
def test_each_has_a_list_of_its_own_that_is_not_given(cls: type[Call | Choice]) -> None:
    one, other, given = cls("a"), cls("a", 1), ["b"]
    one.seen.append("c")
    assert other.seen == []
    assert cls("a", seen=given).seen is given


@pytest.mark.parametrize("given", [(), ("a", 1, [], 2)])
def test_a_constructor_wants_what_its_fields_say(given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match=r"Call\.__init__\(\)"):
        Call(*given)
    with pytest.raises(TypeError, match="other"):
        Call("a", other=1)  # type: ignore[call-arg]
