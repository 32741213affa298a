"""A case: one requirement of the protocol, and the function that checks whether a target meets it."""

import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

from attrs import frozen


class Level(StrEnum):
    """How binding a requirement is, in the words of BCP 14."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


class Dialect(StrEnum):
    """The two protocol versions."""

    V2 = "V2"
    V3 = "V3"


class Role(StrEnum):
    """What is judged."""

    BOOKIE = "bookie"
    CLIENT = "client"


MUST, SHOULD, MAY = Level
V2, V3 = Dialect
BOTH = (V2, V3)

SITES = ("plain", "read-only", "tls", "auth", "tls+auth", "own")
"""The bookies that a case can want: one that is set up in some way, or one of its own, which it may stop."""

LIMIT_S = 20.0
"""A verdict is reached within this, unless a case says otherwise."""

_ID = re.compile(r"BKW-[A-Z0-9]+-\d{3}")

Script: TypeAlias = Callable[[Any], None]


@frozen
class Case:
    """One requirement."""

    id: str
    """``BKW-AREA-NNN``; never given to another requirement."""
    role: Role
    """Whether bookies or clients must meet it."""
    level: Level
    """How binding it is."""
    section: str
    """The label of the section of the reference that states the requirement."""
    title: str
    """A few words for lists and reports."""
    requirement: str
    """What the target must do, in one or two sentences."""
    sends: str
    """What the case does to see that."""
    accepts: str
    """What it takes for right."""
    script: Script
    """The function."""
    dialects: tuple[Dialect, ...] = BOTH
    """It is run once for each."""
    since: str | None = None
    """The first BookKeeper release whose protocol has it."""
    until: str | None = None
    """The last one."""
    provenance: str = ""
    """Where the requirement comes from, as an issue."""
    needs: tuple[str, ...] = ()
    """Features without which it is unsupported; ``{dialect}`` in a name stands for ``v2`` or ``v3``."""
    after: tuple[str, ...] = ()
    """Cases without which it cannot be judged."""
    site: str = "plain"
    """The kind of bookie that it wants, one of :data:`SITES`."""
    alone: bool = False
    """Whether it loads a bookie so much that this may refuse other cases: then no case is tried beside it."""
    limit_s: float = LIMIT_S
    """Seconds within which there is a verdict."""
    module: str = ""
    """Where the function stands."""

    @property
    def area(self) -> str:
        """The middle of the id."""
        return self.id.split("-")[1]


CATALOGUE: dict[str, Case] = {}
"""All cases of the modules that were imported, by id; see :mod:`compat_tests.catalogue`."""


def enter(new: Case) -> Case:
    """Put a case into the catalogue.  Raises ValueError for one that is not well formed, or whose id is taken."""
    if not _ID.fullmatch(new.id):
        raise ValueError(f"{new.id} is no case id: they look like BKW-READ-014")
    if new.id in CATALOGUE:
        raise ValueError(f"{new.id} is taken by {CATALOGUE[new.id].title!r}")
    if new.site not in SITES:
        raise ValueError(f"{new.id}: no site {new.site!r}: there are {', '.join(SITES)}")
    if not (new.requirement and new.sends and new.accepts and new.section):
        raise ValueError(f"{new.id} lacks its requirement, its section, what it sends or what it accepts")
    CATALOGUE[new.id] = new
    return new


def case(
    case_id: str,
    level: Level,
    section: str,
    *,
    sends: str,
    accepts: str,
    dialects: Sequence[Dialect] = BOTH,
    **options: Any,
) -> Callable[[Script], Script]:
    """Enter a function as a case: its name is the title, its docstring the requirement.

    The role is that of the package of the module.

    :param case_id: ``BKW-AREA-NNN``, never used before
    :param level: MUST, SHOULD or MAY
    :param section: label of the section of the reference that says it, as in docs/conformance/sections.md
    :param sends: what the case does, in words
    :param accepts: what it takes for right, in words
    :param dialects: it is run once for each
    :param options: the further fields of :class:`Case`
    :raises ValueError: the case is not well formed, or its id is taken
    """

    def enter_script(script: Script) -> Script:
        title = script.__name__.replace("_", " ")
        requirement = " ".join((script.__doc__ or "").split())
        role = Role.CLIENT if ".client." in f"{script.__module__}." else Role.BOOKIE
        enter(
            Case(
                case_id,
                role,
                level,
                section,
                title,
                requirement,
                sends,
                accepts,
                script,
                tuple(dialects),
                module=script.__module__,
                **{name: tuple(value) if isinstance(value, list) else value for name, value in options.items()},
            )
        )
        return script

    return enter_script


def with_dependencies(wanted: Iterable[Case], base: str) -> list[Case]:
    """The same cases with all that they depend on, ``base`` among these, in order of their ids."""
    found: dict[str, Case] = {}
    open_ids = [base, *(each.id for each in wanted)]
    while open_ids:
        case = CATALOGUE[open_ids.pop()]
        if case.id not in found:
            found[case.id] = case
            open_ids += case.after
    return [case for _, case in sorted(found.items())]
