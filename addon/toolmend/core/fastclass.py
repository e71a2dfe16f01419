"""Class decorators in place of `dataclass`: `value` for immutable values, `mutable` for state.

    @value
    class Delta: text: str; index: int = 0        Delta("a") == Delta("a"), with a hash and slots; for a type checker, frozen

    @mutable
    class Choice: calls: int = 0                  Choice() != Choice(), with slots

Written for speed: there are 120 such classes, and a stream creates a dozen instances for each event. Immutability is not enforced
at run time: a frozen dataclass calls `object.__setattr__` for each field, and takes four times as long. `dataclass` generates no
methods: compiling them took a third of the import time. Only the constructor is compiled, without its annotations, which are half
of that work.
"""

from dataclasses import MISSING, dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def mutable[T](cls: type[T]) -> type[T]:
    """Decorates a class of mutable state: identity comparison, slots."""
    made = dataclass(slots=True, init=False, eq=False, repr=False)(cls)
    made.__init__, made.__repr__ = _constructor(made), _repr  # type: ignore[method-assign]
    return made


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value[T](cls: type[T]) -> type[T]:
    """Decorates a class of values: compared by their fields, hashable, with slots."""
    made = mutable(cls)
    every = [each.name for each in fields(made)]  # type: ignore[arg-type]
    names = [each.name for each in fields(made) if each.compare]  # type: ignore[arg-type]
    held: Callable[[T], object] = attrgetter(*names) if names else lambda _: ()
    whole = attrgetter(*every, "__class__")  # at least two names, so that it returns a tuple

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


def replace[T](original: T, **changes: Any) -> T:
    """Returns a copy of a value with these fields changed, in half the time of `dataclasses.replace`. Raises ValueError.

    It calls the value's own class, which may come from a module that was reloaded since.
    """
    return original.__replace__(**changes)  # type: ignore[attr-defined, no-any-return]


def _constructor(cls: type[Any]) -> "Callable[..., None]":
    """Compiles `def __init__(self, text, index=0): self.text = text; self.index = index` from the fields of a class."""
    head, body, defaults = ["self"], ["pass"], []
    scope: dict[str, Any] = {"missing": MISSING}
    for each in fields(cls):
        head.append(each.name)
        given = each.name
        if each.default_factory is not MISSING:
            scope[f"make_{each.name}"] = each.default_factory
            given = f"make_{each.name}() if {each.name} is missing else {each.name}"
            defaults.append(MISSING)
        elif each.default is not MISSING:
            defaults.append(each.default)
        body.append(f"self.{each.name} = {given}")
    exec(f"def __init__({', '.join(head)}):\n {'\n '.join(body)}", scope)  # noqa: S102  (the text is made of field names only)
    made = scope["__init__"]
    made.__defaults__, made.__qualname__ = tuple(defaults), f"{cls.__qualname__}.__init__"
    return made  # type: ignore[no-any-return]


def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"
