"""What the classes of values are made by: events, frames, settings, whatever is compared by what it holds.

    @value
    class Delta: text: str; index: int = 0        Delta("a") == Delta("a"), with a hash and slots; for a type checker, frozen

Rule of this file: it is quick, for there are a hundred such classes, and one stream builds a dozen of some for each event. So at
run time nothing enforces that they are frozen (a dataclass that does calls `object.__setattr__` for each field, and takes four
times as long), and of its methods `dataclass` writes the constructor alone: to compile all of them was a quarter of the import.
"""

from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value[T](cls: type[T]) -> type[T]:
    """A class of values: compared by their fields, hashable, with slots."""
    made = dataclass(slots=True, eq=False, repr=False)(cls)
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

    made.__eq__, made.__hash__, made.__repr__ = equal, hashed, _told  # type: ignore[method-assign, assignment]
    made.__replace__ = replaced  # type: ignore[attr-defined]
    return made


def replace[T](one: T, **changes: Any) -> T:
    """A value that is another in these fields: in half the time that `dataclasses.replace` takes. Raises ValueError.

    The class says how: it may be one of a module that has been loaded anew since.
    """
    return one.__replace__(**changes)  # type: ignore[attr-defined, no-any-return]


def _told(self: Any) -> str:
    said = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(said)})"
