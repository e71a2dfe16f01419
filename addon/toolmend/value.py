"""What events, frames and server-sent events are: values, by the thousand a second.

Rule of this file: a type checker takes a value for frozen; at run time nothing enforces it, for a frozen dataclass is built four
times as slowly (`object.__setattr__` for each field), and one stream builds a dozen for each event.
"""

from dataclasses import dataclass, field
from typing import dataclass_transform


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value[T](cls: type[T]) -> type[T]:
    """A class of values: compared by their fields, hashable, with slots."""
    return dataclass(slots=True, unsafe_hash=True)(cls)
