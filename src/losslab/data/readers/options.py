"""The options of a reader as a checked model, read off its signature."""

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model


def options_of(reader: Callable[..., Any]) -> type[BaseModel]:
    """A model with a field per argument of ``reader`` but the first, its folder.

    >>> def read(folder, *, depth: int = 4): ...
    >>> options_of(read)().model_dump()
    {'depth': 4}
    """
    hints = get_type_hints(reader, include_extras=True)
    _, *arguments = signature(reader).parameters.values()
    fields: dict[str, Any] = {
        argument.name: (
            hints.get(argument.name, Any),
            ... if argument.default is Parameter.empty else argument.default,
        )
        for argument in arguments
    }
    strict = ConfigDict(extra="forbid", frozen=True)
    return create_model(f"Options of {reader.__name__}", __config__=strict, **fields)
