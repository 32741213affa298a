"""The path of a ledger's metadata in ZooKeeper, from its id and back (docs/guides/metadata-stores.md).

Ledgers of scope 0 have the paths of Java's layouts ``hierarchical`` and ``longhierarchical``.  Those of all other
scopes are beside them, in a tree that Java ignores, in either layout.
"""

import re
from itertools import accumulate

from attrs import field, frozen

from protocol_specs import fields
from protocol_specs import ledger_id as ids
from protocol_specs.metadata import layout as spec

HIERARCHICAL = "hierarchical"
LONG_HIERARCHICAL = "longhierarchical"
LAYOUTS = (HIERARCHICAL, LONG_HIERARCHICAL)
"""The layouts that are built; a new cluster gets the first one unless its URI says otherwise."""

_DIGITS = {10: (r"\d", "d"), 16: ("[0-9a-f]", "x")}


@frozen
class Form:
    """One way to cut ids into levels of the tree."""

    folder: tuple[str, ...]
    """Names below the cluster's root, above the first group of digits."""
    groups: tuple[int, ...]
    base: int
    _pattern: re.Pattern[str] = field(init=False, eq=False, repr=False)
    """Matches paths relative to the root; compiled once, since a list has hundreds of thousands of ledgers."""

    @_pattern.default
    def _compiled(self) -> re.Pattern[str]:
        levels = [re.escape(name) for name in self.folder] + [f"({self._digits(size)})" for size in self.groups]
        levels[-1] = spec.LEDGER_PREFIX + levels[-1]
        return re.compile("/".join(levels), re.ASCII)

    def names(self, ledger_id: int) -> list[str]:
        """Return the names of the levels for ``ledger_id``, the last one without its prefix."""
        digits = format(ledger_id, f"0{sum(self.groups)}{_DIGITS[self.base][1]}")
        return [digits[end - size : end] for size, end in zip(self.groups, accumulate(self.groups), strict=True)]

    def is_range(self, name: str, depth: int) -> bool:
        """Tell whether a node called ``name``, ``depth`` groups below the folder, can have ledgers below it."""
        return bool(re.fullmatch(self._digits(self.groups[depth]), name, re.ASCII))

    def id_of(self, relative: str) -> int | None:
        """Return the id that the path ``relative`` to the root stands for in this form, None if it is no such path."""
        match = self._pattern.fullmatch(relative)
        return int("".join(match.groups()), self.base) if match else None

    def _digits(self, count: int) -> str:
        return f"{_DIGITS[self.base][0]}{{{count}}}"


_SHORT = Form((), spec.SHORT_GROUPS, 10)
_LONG = Form((), spec.LONG_GROUPS, 10)
_SCOPED = Form((spec.SCOPED,), spec.SCOPED_GROUPS, 16)


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
        the long layout, ``R/ID-128/0123/4567/89ab/cdef/0123/4567/89ab/Lcdef`` in another scope than 0.
        """
        form = self._form_of(ledger_id)
        *ranges, last = form.names(ledger_id)
        return "/".join([self.root, *form.folder, *ranges, spec.LEDGER_PREFIX + last])

    def id_of(self, path: str) -> int | None:
        """Return the ledger whose metadata is at ``path``, None if it is not the path of a ledger."""
        if not path.startswith(self.root + "/"):
            return None
        relative = path[len(self.root) + 1 :]
        for form in (_SHORT, _LONG, _SCOPED):
            ledger_id = form.id_of(relative)
            if ledger_id is not None:
                limit = ids.QUALIFIED_ID_MAX if form is _SCOPED else fields.LEDGER_ID_MAX
                return ledger_id if ledger_id <= limit and self.path(ledger_id) == path else None
        return None

    def branches(self, scope_id: int | None) -> list[Branch]:
        """Return where the ledgers of a scope are, of all scopes for None; ids ascend from branch to branch."""
        of_scope_0 = [Branch(self.root, form) for form in self._forms_of_scope_0()]
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

    def _forms_of_scope_0(self) -> tuple[Form, ...]:
        return (_LONG,) if self.layout == LONG_HIERARCHICAL else (_SHORT, _LONG)

    def _form_of(self, ledger_id: int) -> Form:
        if ledger_id >= ids.SCOPED_MIN:
            return _SCOPED
        return _SHORT if ledger_id < spec.ID_31_BIT_END and self.layout == HIERARCHICAL else _LONG
