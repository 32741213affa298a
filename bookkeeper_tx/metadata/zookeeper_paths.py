"""Where a ledger's metadata stands in ZooKeeper in the hierarchical layout, and the way back."""

import re
from itertools import accumulate

from protocol_specs import fields
from protocol_specs.metadata import layout as spec


def _pattern(groups: tuple[int, ...]) -> re.Pattern[str]:
    levels = [rf"\d{{{size}}}" for size in groups]
    return re.compile("/".join([*levels[:-1], spec.LEDGER_PREFIX + levels[-1]]), re.ASCII)


_SHORT = _pattern(spec.SHORT_GROUPS)
_LONG = _pattern(spec.LONG_GROUPS)


def ledger_path(root: str, ledger_id: int) -> str:
    """Return the path of a ledger: ``R/12/3456/L7890`` below 2^31 - 1, else ``R/000/0000/0021/4748/L3647``."""
    groups = spec.SHORT_GROUPS if ledger_id < spec.ID_31_BIT_END else spec.LONG_GROUPS
    digits = f"{ledger_id:0{sum(groups)}d}"
    ends = list(accumulate(groups))
    parts = [digits[end - size : end] for size, end in zip(groups, ends, strict=True)]
    parts[-1] = spec.LEDGER_PREFIX + parts[-1]
    return "/".join([root, *parts])


def ledger_id_of(root: str, path: str) -> int | None:
    """Return the ledger whose metadata stands at ``path``, None if no ledger's does."""
    if not path.startswith(root + "/"):
        return None
    relative = path[len(root) + 1 :]
    if not (_SHORT.fullmatch(relative) or _LONG.fullmatch(relative)):
        return None
    ledger_id = int("".join(filter(str.isdecimal, relative)))
    return ledger_id if ledger_id <= fields.LEDGER_ID_MAX and ledger_path(root, ledger_id) == path else None


def parents(path: str, root: str) -> list[str]:
    """Return the ancestors of ``path`` below ``root``, nearest first."""
    found = []
    while (path := path.rpartition("/")[0]) and path != root:
        found.append(path)
    return found


def is_range(name: str, depth: int, long: bool) -> bool:
    """Tell whether a node called ``name``, ``depth`` levels below the root's children, leads to ledgers.

    ``long`` tells the form of their paths.
    """
    groups = spec.LONG_GROUPS if long else spec.SHORT_GROUPS
    return len(name) == groups[depth] and name.isascii() and name.isdecimal()
