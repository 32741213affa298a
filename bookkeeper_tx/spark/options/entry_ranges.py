"""The entries of ledgers that are looked at: the option ``entries``."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from attrs import frozen

from bookkeeper_tx.model import ledger_name
from bookkeeper_tx.spark.options.id_ranges import IdRange, IdRanges
from bookkeeper_tx.spark.options.offsets import ledger_of, no_key_twice
from bookkeeper_tx.spark.options.option import Kind


@frozen
class EntryRanges:
    """Entries of some ledgers; of a ledger that is not named, all."""

    of_ledger: Mapping[int, IdRanges]

    @classmethod
    def of(cls, spans: Iterable[tuple[int, int, int]]) -> "EntryRanges":
        """Unite ranges, each a ledger id, a first and a last entry."""
        found: defaultdict[int, list[IdRange]] = defaultdict(list)
        for ledger_id, first, last in spans:
            found[ledger_id].append((first, last))
        return cls({ledger_id: IdRanges(ranges) for ledger_id, ranges in sorted(found.items())})

    def cut(self, ledger_id: int, first: int, last: int) -> Iterator[IdRange]:
        """Give the ranges within ``first`` … ``last`` that are looked at, in order."""
        named = self.of_ledger.get(int(ledger_id))
        for low, high in ((first, last),) if named is None else named.ranges:
            if max(low, first) <= min(high, last):
                yield max(low, first), min(high, last)

    def __str__(self) -> str:
        """The text of the option."""
        return json.dumps({ledger_name(ledger_id): entries.text for ledger_id, entries in self.of_ledger.items()})


def parse_entry_ranges(text: str) -> EntryRanges:
    """Return the ranges of JSON; raises ValueError with a text for the user."""
    try:
        found = json.loads(text, object_pairs_hook=no_key_twice)
    except json.JSONDecodeError:
        raise ValueError("it is no JSON") from None
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()) or not found:
        raise ValueError("the JSON must be an object of ledger ids and texts of entry ids")
    return EntryRanges({ledger_of(key): IdRanges.of_text(entries) for key, entries in found.items()})


ENTRY_RANGES = Kind('JSON such as `{"7": "0-99,500"}`', parse_entry_ranges)
