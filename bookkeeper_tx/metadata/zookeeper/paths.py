"""The path of a ledger's metadata in ZooKeeper, from its id and back (docs/guides/metadata-stores.md).

Ledgers of scope 0 have the paths of Java's layouts ``hierarchical``, ``longhierarchical`` and ``flat``.  Those of all
other scopes are beside them, in a tree that Java ignores, in each layout.
"""

import re
from itertools import accumulate

from attrs import field, frozen

from bookkeeper_tx.metadata.uri import LAYOUTS
from protocol_specs import fields
from protocol_specs import ledger_id as ids
from protocol_specs.metadata import layout as spec

HIERARCHICAL, LONG_HIERARCHICAL, FLAT = LAYOUTS

_DIGITS_MAX = 19
"""Decimal digits of the largest id."""

_DIGITS = {10: (r"\d", "d"), 16: ("[0-9a-f]", "x")}


@frozen
class Form:
    """One way to cut ids into levels of the tree."""

    folder: tuple[str, ...]
    """Names below the cluster's root, above the first group of digits."""
    groups: tuple[int, ...]
    """Digits of each level; what an id has more is in the last one."""
    base: int
    _pattern: re.Pattern[str] = field(init=False, eq=False, repr=False)
    """Matches paths relative to the root; compiled once, since a list has hundreds of thousands of ledgers."""

    @_pattern.default
    def _compiled(self) -> re.Pattern[str]:
        *ranges, last = self.groups
        levels = [re.escape(name) for name in self.folder] + [f"({self._digits(size)})" for size in ranges]
        # Whether an id has more digits than it should is told by its own path.
        ledger = f"{spec.LEDGER_PREFIX}({self._digits(last, _DIGITS_MAX)})"
        return re.compile("/".join([*levels, ledger]), re.ASCII)

    def names(self, ledger_id: int) -> list[str]:
        """Return the names of the levels for ``ledger_id``, the last one without its prefix."""
        digits = format(ledger_id, f"0{sum(self.groups)}{_DIGITS[self.base][1]}")
        starts = list(accumulate(self.groups, initial=0))[:-1]
        return [digits[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]

    def is_range(self, name: str, depth: int) -> bool:
        """Tell whether a node called ``name``, ``depth`` groups below the folder, can have ledgers below it."""
        return bool(re.fullmatch(self._digits(self.groups[depth]), name, re.ASCII))

    def id_of(self, relative: str) -> int | None:
        """Return the id that the path ``relative`` to the root stands for in this form, None if it is no such path."""
        match = self._pattern.fullmatch(relative)
        return int("".join(match.groups()), self.base) if match else None

    def _digits(self, count: int, count_max: int | None = None) -> str:
        return f"{_DIGITS[self.base][0]}{{{count},{count_max or count}}}"


_SHORT = Form((), spec.SHORT_GROUPS, 10)
_LONG = Form((), spec.LONG_GROUPS, 10)
_FLAT = Form((), spec.FLAT_GROUPS, 10)
_SCOPED = Form((spec.SCOPED,), spec.SCOPED_GROUPS, 16)

_FORMS = {HIERARCHICAL: (_SHORT, _LONG), LONG_HIERARCHICAL: (_LONG,), FLAT: (_FLAT,)}
"""By layout: the forms of ledgers of scope 0, with ascending ids."""


@frozen
class Branch:
    """A part of the tree: all nodes below ``path``, whose children are named by group ``depth`` of ``form``."""

    path: str
    form: Form
    depth: int = 0

    @property
    def holds_ledgers(self) -> bool:
        """Whether the children of ``path`` are ledgers and not branches."""
        return self.depth + 1 == len(self.form.groups)

    def child(self, name: str) -> "Branch":
        return Branch(f"{self.path}/{name}", self.form, self.depth + 1)


@frozen
class LedgerTree:
    """The ledgers below the node ``root`` of a cluster."""

    root: str
    layout: str = field(default=HIERARCHICAL)

    def path(self, ledger_id: int) -> str:
        """Return the path of a ledger: ``R/12/3456/L7890`` below 2^31 - 1, ``R/000/0000/0021/4748/L3647`` above and in
        the long layout, ``R/L1234567890`` in the flat one,
        ``R/ID-128/0123/4567/89ab/cdef/0123/4567/89ab/Lcdef`` in another scope than 0.
        """
        form = self._form_of(ledger_id)
        *ranges, last = form.names(ledger_id)
        return "/".join([self.root, *form.folder, *ranges, spec.LEDGER_PREFIX + last])

    def id_of(self, path: str) -> int | None:
        """Return the ledger whose metadata is at ``path``, None if it is not the path of a ledger."""
        if not path.startswith(self.root + "/"):
            return None
        relative = path[len(self.root) + 1 :]
        for form in (*_FORMS[self.layout], _SCOPED):
            ledger_id = form.id_of(relative)
            if ledger_id is not None:
                limit = ids.QUALIFIED_ID_MAX if form is _SCOPED else fields.LEDGER_ID_MAX
                return ledger_id if ledger_id <= limit and self.path(ledger_id) == path else None
        return None

    def branches(self, scope_id: int | None) -> list[Branch]:
        """Return where the ledgers of a scope are, of all scopes for None; ids ascend from branch to branch."""
        of_scope_0 = [Branch(self.root, form) for form in _FORMS[self.layout]]
        if scope_id == 0:
            return of_scope_0
        scoped = Branch(f"{self.root}/{spec.SCOPED}", _SCOPED)
        if scope_id is None:
            return [*of_scope_0, scoped]
        names = _SCOPED.names(ids.join(scope_id, 0))
        for name in names[: len(names) // 2]:
            scoped = scoped.child(name)
        return [scoped]

    def parents(self, path: str) -> list[str]:
        """Return the ancestors of ``path`` below the root, nearest first."""
        found = []
        while (path := path.rpartition("/")[0]) and path != self.root:
            found.append(path)
        return found

    def _form_of(self, ledger_id: int) -> Form:
        if ledger_id >= ids.SCOPED_MIN:
            return _SCOPED
        first, *others = _FORMS[self.layout]
        return others[0] if others and ledger_id >= spec.ID_31_BIT_END else first
