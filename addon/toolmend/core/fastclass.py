"""What classes that hold something are made by: values (events, frames, settings …), and what is known so far, and changes.

    @value
    class Delta: text: str; index: int = 0        Delta("a") == Delta("a"), with a hash and slots; for a type checker, frozen

    @mutable
    class Choice: calls: int = 0                  Choice() != Choice(), with slots

Rule of this file: it is quick, for there are 120 such classes, and one stream builds a dozen of some for each event. So at run
time nothing enforces that values are frozen (a dataclass that does calls `object.__setattr__` for each field, and takes four
times as long), and `dataclass` writes no methods: to compile them was a third of the import. All that is compiled is the
constructor, without its annotations, which are half of the work.
"""

from dataclasses import MISSING, dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def mutable[T](cls: type[T]) -> type[T]:
    """A class of what changes: each is equal to itself alone; with slots."""
    made = dataclass(slots=True, init=False, eq=False, repr=False)(cls)
    made.__init__, made.__repr__ = _constructor(made), _repr  # type: ignore[method-assign]
    return made


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value[T](cls: type[T]) -> type[T]:
    """A class of values: compared by their fields, hashable, with slots."""
    made = mutable(cls)
    every = [one.name for one in fields(made)]  # type: ignore[arg-type]
    names = [one.name for one in fields(made) if one.compare]  # type: ignore[arg-type]
    held: Callable[[T], object] = attrgetter(*names) if names else lambda _: ()
    whole = attrgetter(*every, "__class__")  # of more than one name, so that it gives a tuple

    def equal(self: T, other: object) -> bool:
        return held(self) == held(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: T) -> int:
        return hash(held(self))

    def replaced(self: T, **changes: Any) -> T:
        *given, cls = whole(self)
        for name, new in changes.items():
            given[every.index(name)] = new
        return cls(*given)  # type: ignore[no-any-return]

    made.__eq__, made.__hash__ = equal, hashed  # type: ignore[method-assign, assignment]
    made.__replace__ = replaced  # type: ignore[attr-defined]
    return made


def replace[T](one: T, **changes: Any) -> T:
    """A value that is another in these fields: in half the time that `dataclasses.replace` takes. Raises ValueError.

    The class says how: it may be one of a module that has been loaded anew since.
    """
    return one.__replace__(**changes)  # type: ignore[attr-defined, no-any-return]


def _constructor(cls: type[Any]) -> "Callable[..., None]":
    """`def __init__(self, text, index=0): self.text = text; self.index = index`, by the fields of a class."""
    head, body, defaults = ["self"], ["pass"], []
    scope: dict[str, Any] = {"unsaid": MISSING}
    for one in fields(cls):
        head.append(one.name)
        given = one.name
        if one.default_factory is not MISSING:
            scope[f"make_{one.name}"] = one.default_factory
            given = f"make_{one.name}() if {one.name} is unsaid else {one.name}"
            defaults.append(MISSING)
        elif one.default is not MISSING:
            defaults.append(one.default)
        body.append(f"self.{one.name} = {given}")
    exec(f"def __init__({', '.join(head)}):\n {'\n '.join(body)}", scope)  # noqa: S102  (text of ours: names of fields)
    made = scope["__init__"]
    made.__defaults__, made.__qualname__ = tuple(defaults), f"{cls.__qualname__}.__init__"
    return made  # type: ignore[no-any-return]


def _repr(self: Any) -> str:
    said = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(said)})"
