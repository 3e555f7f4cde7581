"""Hyperparameters of a loss, read from the signature of its class.

An argument is a hyperparameter where its annotation holds an :class:`Option`: its type says which
values it takes, its :class:`Option` where the default comes from and the bounds.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, signature
from math import inf
from numbers import Real
from typing import Any, Literal, get_args, get_origin, get_type_hints

TYPES = {bool, int, float, Sequence, Literal}
LARGEST = 1e9
"""No hyperparameter is larger; its square still fits every type of number."""
BUILT_WITH = ("statistics", "groups", "task")
"""What a constructor may take besides hyperparameters."""


@dataclass(frozen=True, repr=False)
class Option:
    """Where the default of a hyperparameter comes from, its bounds, and what a search tries.

    ``gamma: Annotated[float, Option("A.1: both datasets", minimum=0, search=(0, 5))] = 2.0``

    Args:
        minimum, maximum: bounds, both included.
        search: two numbers: a range; more: values to choose from; none: it is not searched. Words
            and switches are searched without.
        log: the range is searched on a logarithmic scale.
    """

    source: str
    minimum: float | None = None
    maximum: float | None = None
    search: tuple[float, ...] = ()
    log: bool = False

    def __repr__(self) -> str:
        bounds = {"minimum": self.minimum, "maximum": self.maximum}
        given = [f"{name}={bound:g}" for name, bound in bounds.items() if bound is not None]
        given += [f"search={self.search}"] if self.search else []
        return (
            f"Option({', '.join([repr(self.source), *given, *(['log=True'] if self.log else [])])})"
        )


@dataclass(frozen=True)
class Hyperparameter:
    """A hyperparameter: name, default, source of the default, and the values it takes.

    ``types`` are those of its annotation: ``bool`` takes true or false, ``int`` whole numbers,
    ``float`` numbers, ``Sequence`` a list with a number per label. ``choices`` are strings.
    ``search`` and ``log`` are those of its :class:`Option`.
    """

    name: str
    default: Any
    source: str
    types: tuple[Any, ...]
    choices: tuple[str, ...]
    minimum: float | None
    maximum: float | None
    search: tuple[float, ...] = ()
    log: bool = False

    def check(self, value: Any) -> None:
        """Raise ``ValueError`` that names the hyperparameter and the values it takes."""
        if Sequence in self.types and isinstance(value, list | tuple):
            for number in value:
                self._check_number(number)
        elif bool in self.types:
            if not isinstance(value, bool):
                raise ValueError(f"{self.name} must be true or false, got {value!r}")
        elif not (isinstance(value, str) and value in self.choices):
            self._check_number(value)

    def _check_number(self, value: Any) -> None:
        numeric = int in self.types or float in self.types
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        is_number = is_number and -inf < value < inf  # a whole number may be too large for a float
        if not (numeric and is_number):
            kinds = [*(["a number"] if numeric else []), *map(repr, self.choices)]
            raise ValueError(f"{self.name} must be {' or '.join(kinds)}, got {value!r}")
        if not -LARGEST <= value <= LARGEST:
            raise ValueError(f"{self.name} must be a number up to {LARGEST:g}, got {value!r:.30}")
        number = float(value)
        if int in self.types and number != int(number):
            raise ValueError(f"{self.name} must be a whole number, got {number:g}")
        if self.minimum is not None and number < self.minimum:
            raise ValueError(f"{self.name} must be >= {self.minimum:g}, got {number:g}")
        if self.maximum is not None and number > self.maximum:
            raise ValueError(f"{self.name} must be <= {self.maximum:g}, got {number:g}")


@cache
def read_hyperparameters(constructor: Callable[..., None]) -> tuple[Hyperparameter, ...]:
    """The hyperparameters of a constructor, in the order of its signature.

    >>> from typing import Annotated
    >>> def build(*, gamma: Annotated[float, Option("eq. 2", minimum=0)] = 2.0) -> None: ...
    >>> read_hyperparameters(build)[0].check(-1)
    Traceback (most recent call last):
    ...
    ValueError: gamma must be >= 0, got -1
    """
    hints = get_type_hints(constructor, include_extras=True)
    return tuple(
        _read(name, argument.default, hints[name], option)
        for name, argument in signature(constructor).parameters.items()
        for option in getattr(hints.get(name), "__metadata__", ())
        if isinstance(option, Option)
    )


def check_declarations(constructor: Callable[..., None], needs: Collection[str]) -> None:
    """Raise ``TypeError`` for a keyword-only argument that is no need and no sound hyperparameter.

    >>> def build(*, gamma: float = 2.0) -> None: ...
    >>> check_declarations(build, needs=())
    Traceback (most recent call last):
    ...
    TypeError: write gamma: Annotated[float, Option("source of the default", minimum=...)] = ...
    """
    known = {each.name: each for each in read_hyperparameters(constructor)}
    for name, argument in signature(constructor).parameters.items():
        if name in known:
            _check_declaration(known[name])
        elif argument.kind is Parameter.KEYWORD_ONLY and name not in needs:
            raise TypeError(_advice(name))


def _advice(name: str) -> str:
    if name in BUILT_WITH:
        return f"add {name!r} to needs: its constructor takes it"
    return f'write {name}: Annotated[float, Option("source of the default", minimum=...)] = ...'


def _check_declaration(option: Hyperparameter) -> None:
    if not set(option.types) <= TYPES:
        kinds = "bool, int, float, Sequence[float] or, for words, Literal[...]"
        raise TypeError(f"the type of {option.name} must be {kinds}")
    if option.default is Parameter.empty:
        raise TypeError(f"the default of {option.name} is missing")
    try:
        option.check(option.default)
    except ValueError as error:
        raise TypeError(f"the default of {error}") from None
    _check_search(option)


def _check_search(option: Hyperparameter) -> None:
    """Raise ``TypeError`` unless what a search would try lies within the bounds."""
    if not option.search:
        return
    values, name = option.search, option.name
    if float not in option.types:
        raise TypeError(f"search of {name}: only a float has a range")
    if len(values) < 2 or list(values) != sorted(set(values)):
        raise TypeError(f"search of {name} must be two or more rising numbers, got {values}")
    if option.log and (len(values) > 2 or values[0] <= 0):
        raise TypeError(f"search of {name}: log needs a range above 0, got {values}")
    try:
        for value in values:
            option.check(value)
    except ValueError as error:
        raise TypeError(f"search of {error}") from None


def _read(name: str, default: Any, annotation: Any, option: Option) -> Hyperparameter:
    kind = get_args(annotation)[0]
    members = (kind,) if get_origin(kind) in (None, Literal) else get_args(kind)
    return Hyperparameter(
        name,
        default,
        option.source,
        types=tuple(get_origin(member) or member for member in members),
        choices=tuple(word for m in members if get_origin(m) is Literal for word in get_args(m)),
        minimum=option.minimum,
        maximum=option.maximum,
        search=option.search,
        log=option.log,
    )
