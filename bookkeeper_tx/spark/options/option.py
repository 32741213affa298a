"""The declaration of an option of a Spark format, and how its value is read."""

import json
import re
from collections.abc import Callable, Mapping
from enum import Enum, Flag, auto
from typing import Any

from attrs import Attribute, Factory, field, frozen

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.metadata.uri import parse_metadata_uri, shown_uri
from bookkeeper_tx.model import DigestType, LedgerId
from protocol_specs.fields import LEDGER_ID_MAX

METADATA_KEY = "option"
"""Where a field of :class:`~bookkeeper_tx.spark.options.options.Options` keeps its :class:`Option`."""


class Use(Flag):
    """A use of a format; an option names the uses in which it does something."""

    READ = auto()
    """Batch read of table ``entries``."""
    STREAM = auto()
    """Streaming read of table ``entries``."""
    WRITE = auto()
    """Batch write of table ``entries``."""
    STREAM_WRITE = auto()
    """Streaming write of table ``entries``."""
    LEDGERS = auto()
    """Table ``ledgers``."""
    BOOKIES = auto()
    """Table ``bookies``."""
    REPLICAS = auto()
    """Table ``replicas``."""
    ENTRYLOG = auto()
    """Table ``entrylog``."""
    ORPHANS = auto()
    """Table ``orphans``."""

    ENTRIES = READ | STREAM
    SINK = WRITE | STREAM_WRITE
    CLUSTER = READ | STREAM | WRITE | STREAM_WRITE | LEDGERS | BOOKIES | REPLICAS | ORPHANS
    """Every use that reads from or writes to a cluster."""


NOWHERE = Use(0)


@frozen
class Kind:
    """The form of an option's values."""

    form: str
    """The form in a few words: the documentation and error messages show it."""
    parse: Callable[[str], Any]
    """Returns the value of a text; raises ValueError, whose text, if any, says more than ``form``."""
    shown: Callable[[str], str] = str
    """Returns the text as messages may show it."""


@frozen
class Option:
    """One option."""

    kind: Kind
    uses: Use
    text: str
    """Its effect, for the documentation."""
    required: Use = NOWHERE
    """The uses in which it must be given."""
    default: str | None = None
    """The default as the documentation shows it, if that is not the value itself."""
    alias: str | None = None
    """Another name for it."""
    prefix: bool = False
    """Its name ends in a dot, and a key follows: the value is a mapping."""
    secret: bool = False
    """No message shows its value."""


def option(kind: Kind, uses: Use, text: str, default: Any = None, *, shown: str | None = None, **more: Any) -> Any:
    """Return the field of an option; ``shown`` is how the documentation shows the default."""
    value = Option(kind=kind, uses=uses, text=text, default=shown, **more)
    return field(default=Factory(dict) if value.prefix else default, metadata={METADATA_KEY: value})


def option_of(attribute: "Attribute[Any]") -> Option:
    """Return the option that a field stands for."""
    found = attribute.metadata[METADATA_KEY]
    assert isinstance(found, Option)
    return found


def option_name(attribute: "Attribute[Any]") -> str:
    """Return its name in Spark: ``max_entries_per_trigger`` is ``maxEntriesPerTrigger``."""
    return _SPELLED.get(attribute.name) or re.sub(r"_([a-z])", lambda found: found[1].upper(), attribute.name)


_SPELLED = {"ledger_metadata": "ledgerMetadata.", "client_keys": "bookkeeper.client."}


# Kinds ---------------------------------------------------------------------------------------------------------------


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("it is empty")
    return value.strip()


def _metadata_uri(value: str) -> str:
    uri = _text(value)
    try:
        parse_metadata_uri(uri)
    except InvalidConfig as error:
        raise ValueError(str(error).removeprefix(f"metadata URI {shown_uri(uri)!r}: ")) from None
    return uri


def _boolean(value: str) -> bool:
    if value.strip().lower() not in ("true", "false"):
        raise ValueError
    return value.strip().lower() == "true"


_LARGEST = 2**63 - 1
"""The largest number in Spark and in the protocol."""


def number(minimum: int = 0, maximum: int = _LARGEST) -> Kind:
    """Return the kind of whole numbers from ``minimum`` to ``maximum``, both included."""

    def parse(value: str) -> int:
        found = int(value)
        if not minimum <= found <= maximum:
            raise ValueError
        return found

    span = f", {minimum} or more" if maximum == _LARGEST else f" from {minimum} to {maximum}"
    return Kind(f"a whole number{span}", parse)


_UNITS = {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3}


def _size(value: str) -> int:
    found = re.fullmatch(r"(\d+)\s*([bkmg]?)b?", value.strip().lower())
    if found is None or not int(found[1]):
        raise ValueError
    size = int(found[1]) * _UNITS[found[2]]
    if size > _LARGEST:
        raise ValueError("that is more than anything can hold")
    return size


def _batch_size(value: str) -> int:
    size = _size(value)
    if size > _UNITS["g"]:  # its offsets are of 32 bits
        raise ValueError("an Arrow batch has 1 GiB at most")
    return size


def choice(values: type[Enum]) -> Kind:
    """Return the kind of one member of an enumeration, by its name in small letters."""
    members = {each.name.lower(): each for each in values}

    def parse(value: str) -> Enum:
        found = members.get(value.strip().lower())
        if found is None:
            raise ValueError
        return found

    return Kind("one of " + ", ".join(f"`{name}`" for name in members), parse)


def parse_ledger_id(value: str) -> int:
    """Return the ledger of a decimal number, or of 32 hexadecimal digits; raises ValueError."""
    value = value.strip()
    if re.fullmatch(r"[0-9a-fA-F]{32}", value):
        return LedgerId.of_name(value)
    if not re.fullmatch(r"\d{1,19}", value) or int(value) > LEDGER_ID_MAX:
        raise ValueError(f"{value!r} is no ledger id")
    return int(value)


LedgerSpan = tuple[int, int | None]
"""First and last of consecutive ledger ids; None for all from the first on."""


def _ledger_spans(value: str) -> tuple[LedgerSpan, ...]:
    spans: list[LedgerSpan] = []
    for part in value.split(","):
        first, dash, last = (each.strip() for each in part.partition("-"))
        start = parse_ledger_id(first)
        end = start if not dash else parse_ledger_id(last) if last else None
        if end is not None and end < start:
            raise ValueError(f"{part.strip()!r} ends before it begins")
        spans.append((start, end))
    return tuple(spans)


def _scope(value: str) -> int | None:
    if value.strip().lower() == "all":
        return None
    found = int(value)
    if not -(2**63) <= found < 2**63:
        raise ValueError
    return found


def _paths(value: str) -> tuple[str, ...]:
    if value.lstrip().startswith("["):  # Spark turns load(["a", "b"]) into a list in JSON
        found = json.loads(value)
        if not all(isinstance(each, str) for each in found):
            raise ValueError
        return tuple(map(_text, found))
    return tuple(_text(each) for each in value.split(","))


TEXT = Kind("some text", _text)
BOOLEAN = Kind("`true` or `false`", _boolean)
METADATA_URI = Kind("where the metadata is, as `zk://host:2181/ledgers` or `sqlite:///path`", _metadata_uri, shown_uri)
COUNT = number(1)
DURATION_MAX_S = 7 * 24 * 3600
"""A week: a selector cannot wait much longer."""
WAIT = number(0, DURATION_MAX_S * 1000)
TIMEOUT = number(1, DURATION_MAX_S * 1000)
SIZE = Kind("bytes, as in `8388608`, `64k`, `8m` or `1g`", _size)
BATCH_SIZE = Kind(SIZE.form, _batch_size)
DIGEST = choice(DigestType)
LEDGER = Kind("a ledger id: a decimal number, or 32 hexadecimal digits", parse_ledger_id)
LEDGERS = Kind("ledger ids and ranges of them, as in `1,5-9,20-`", _ledger_spans)
SCOPE = Kind("the number of a scope, or `all`", _scope)
PATHS = Kind("paths, with commas between them", _paths)


def mapping_of(name: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return the values of the options with a prefix, by the key after it."""
    prefix = name.lower()
    return {key[len(prefix) :]: value for key, value in values.items() if key.lower().startswith(prefix)}
