"""A mutant: the product with one deliberate defect, to see whether a case of the conformance suite notices.

The product has no switch for it: a launcher puts the defect into the classes before it starts the product.
"""

from collections.abc import Callable
from typing import Any

from attrs import frozen

BOOKIE, CLIENT = "bookie", "client"
TABLE, HAND = "table", "hand"


@frozen
class Mutant:
    """One defect."""

    name: str
    role: str
    areas: tuple[str, ...]
    """Ids and areas of the cases that ought to notice it; they are tried first, in this order."""
    sentence: str
    patch: Callable[[], None]
    """Puts the defect into this process."""
    origin: str = HAND
    """``table``: made from a row of the tables of answers; ``hand``."""

    def __str__(self) -> str:
        return self.name


class Defects:
    """The mutants of one role in one file; each is a function that patches, with a name and a sentence."""

    def __init__(self, role: str) -> None:
        self.role = role
        self.mutants: list[Mutant] = []

    def defect(self, *areas: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
        """Enter a function as a mutant: its name is the name, its docstring the sentence."""

        def enter(patch: Callable[[], None]) -> Callable[[], None]:
            sentence = " ".join((patch.__doc__ or "").split())
            self.mutants.append(Mutant(patch.__name__.replace("_", "-"), self.role, areas, sentence, patch))
            return patch

        return enter


def instead_of(owner: Any, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put a function in the place of a method or function; it is called with the original before its arguments."""

    def put(function: Callable[..., Any]) -> Callable[..., Any]:
        original = getattr(owner, name)

        def replacement(*arguments: Any, **named: Any) -> Any:
            return function(original, *arguments, **named)

        setattr(owner, name, replacement)
        return function

    return put
