"""The path of a ledger's metadata in ZooKeeper, and the ids of those in a folder (docs/guides/metadata-stores.md).

Ledgers of scope 0 have the paths of Java's layouts ``hierarchical``, ``longhierarchical`` and ``flat``.  Those of all
other scopes are beside them, in a tree that Java ignores, in each layout.
"""

import re
from collections.abc import Iterable, Iterator
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
    _ledger: re.Pattern[str] = field(init=False, eq=False, repr=False)
    """Matches the last name of a path; compiled once, since a list has millions of ledgers."""

    @_ledger.default
    def _compiled(self) -> re.Pattern[str]:
        digits = self._digits(self.groups[-1])
        if len(self.groups) == 1:
            digits += f"|[1-9]{self._digits(self.groups[0], _DIGITS_MAX - 1)}"
        return re.compile(f"{spec.LEDGER_PREFIX}({digits})", re.ASCII)

    def names(self, ledger_id: int) -> list[str]:
        """Return the names of the levels for ``ledger_id``, the last one without its prefix."""
        digits = format(ledger_id, f"0{sum(self.groups)}{_DIGITS[self.base][1]}")
        starts = list(accumulate(self.groups, initial=0))[:-1]
        return [digits[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]

    def is_range(self, name: str, depth: int) -> bool:
        """Tell whether a node called ``name``, ``depth`` groups below the folder, can have ledgers below it."""
        return bool(re.fullmatch(self._digits(self.groups[depth]), name, re.ASCII))

    def is_in_root(self, name: str) -> bool:
        """Tell whether a node in the cluster's root, or what is below it, can have ledgers of scope 0 in this form."""
        return self.is_range(name, 0) if len(self.groups) > 1 else self._ledger.fullmatch(name) is not None

    def ids_of(self, folder: str, names: Iterable[str]) -> Iterator[int]:
        """Yield the ids of those ``names`` that are ledgers, in the folder with this path relative to the root."""
        digits = "".join(folder.split("/")[len(self.folder) :])
        matches, base = map(self._ledger.fullmatch, names), self.base
        return (int(digits + match[1], base) for match in matches if match is not None)

    def _digits(self, count: int, count_max: int | None = None) -> str:
        return f"{_DIGITS[self.base][0]}{{{count},{count_max or count}}}"


_SHORT = Form((), spec.SHORT_GROUPS, 10)
_LONG = Form((), spec.LONG_GROUPS, 10)
_FLAT = Form((), spec.FLAT_GROUPS, 10)
_SCOPED = Form((spec.SCOPED,), spec.SCOPED_GROUPS, 16)

_FORMS = {HIERARCHICAL: (_SHORT, _LONG), LONG_HIERARCHICAL: (_LONG,), FLAT: (_FLAT,)}
"""By layout: the forms of ledgers of scope 0, with ascending ids."""


def name_of_another_layout(layout: str, names: Iterable[str]) -> str | None:
    """Return one of the names in a cluster's root that has ledgers which ``layout`` would not find, if one has."""
    others = {form for forms in _FORMS.values() for form in forms} - {*_FORMS[layout]}
    return next((name for name in names if any(each.is_in_root(name) for each in others)), None)


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

    def ids_of(self, branch: "Branch", names: Iterable[str]) -> list[int]:
        """Return the ledgers among the children of a branch that holds ledgers."""
        possible = self._ids_of_form(branch.form)
        first, end = possible.start, possible.stop
        found = branch.form.ids_of(branch.path[len(self.root) + 1 :], names)
        return [ledger_id for ledger_id in found if first <= ledger_id < end]

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

    def _ids_of_form(self, form: Form) -> range:
        """Return the ids whose ledgers have paths of this form."""
        if form is _SCOPED:
            return range(ids.SCOPED_MIN, ids.QUALIFIED_ID_MAX + 1)
        first, *others = _FORMS[self.layout]
        if not others:
            return range(fields.LEDGER_ID_MAX + 1)
        return range(spec.ID_31_BIT_END) if form is first else range(spec.ID_31_BIT_END, fields.LEDGER_ID_MAX + 1)

    def _form_of(self, ledger_id: int) -> Form:
        if ledger_id >= ids.SCOPED_MIN:
            return _SCOPED
        first, *others = _FORMS[self.layout]
        return others[0] if others and ledger_id >= spec.ID_31_BIT_END else first
