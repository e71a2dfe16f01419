"""Classes of values: what makes two of them one, and what they say of themselves."""

from dataclasses import field, replace

import pytest

from toolmend.value import value


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


def test_a_value_can_be_made_of_another() -> None:
    assert replace(Call("a", 1), name="b") == Call("b", 1)
    assert replace(Custom("a"), index=3) == Custom("a", 3)


def test_a_value_takes_no_other_attribute() -> None:
    with pytest.raises(AttributeError):
        Text("a").other = 1  # type: ignore[attr-defined]
