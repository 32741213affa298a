"""128-bit ledger ids (BP-34): a scope id in the upper half, a 64-bit ledger id in the lower half.

In this project's code a ledger id is one integer.  Below :data:`SCOPED_MIN` it is a ledger of scope 0, with the 64-bit
id that exists today; from there on its upper 64 bits are the scope.  On the wire and on the disk the two halves are
signed 64-bit integers, as Java's long: both halves of a random UUID may be negative.
"""

_HALF = 64
_MASK = 2**_HALF - 1
_SIGN = 2 ** (_HALF - 1)

SCOPED_MIN = 2**_HALF
"""The lowest id of a scope other than 0."""

QUALIFIED_ID_MAX = 2**128 - 1

QUALIFIED_NAME_LENGTH = 32
"""Hexadecimal digits of a qualified name, leading zeros included."""


def join(scope_id: int, ledger_id: int) -> int:
    """Return the integer that stands for ``scope_id`` and ``ledger_id``; for scope 0 that is ``ledger_id`` itself."""
    return (scope_id & _MASK) << _HALF | ledger_id & _MASK if scope_id else ledger_id


def split(ledger_id: int) -> tuple[int, int]:
    """Return scope id and ledger id, both as signed 64-bit integers, of an id that :func:`join` made."""
    if ledger_id < SCOPED_MIN:
        return 0, ledger_id
    return _signed(ledger_id >> _HALF), _signed(ledger_id & _MASK)


def _signed(half: int) -> int:
    return half - 2**_HALF if half & _SIGN else half


def qualified_name(ledger_id: int) -> str:
    """Return the ``ledgerQualifiedName``: all 128 bits in lower-case hexadecimal, 32 digits."""
    return f"{ledger_id:0{QUALIFIED_NAME_LENGTH}x}"


def of_qualified_name(name: str) -> int:
    """Return the id that ``name`` stands for, 1 to 32 hexadecimal digits; raises ValueError for anything else."""
    if not 0 < len(name) <= QUALIFIED_NAME_LENGTH or not set(name) <= set("0123456789abcdefABCDEF"):
        raise ValueError(
            f"{name!r} is no qualified ledger name: write up to {QUALIFIED_NAME_LENGTH} hexadecimal digits"
        )
    value = int(name, 16)
    if _SIGN <= value < SCOPED_MIN:
        raise ValueError(f"{name!r} is no qualified ledger name: in scope 0 a ledger id has 63 bits")
    return value
