"""Bits of which a bookie has to notice that they are others, in files without checksums; and what a mark says.

Not noticed can be a mark that is another one of those that there might be; and in an index file a location that is zero
now, which is that of an entry that is not there, and a bit of a key, of a fence or of an explicit last add confirmed.
"""

from random import Random

from bookkeeper_tx.bookie.journal.last_mark import LogMark
from protocol_specs.disk import journal, last_mark
from protocol_specs.disk import ledger_index as index
from tests.simulation.world.bookie_node import JOURNAL, LEDGERS
from tests.simulation.world.disk import FaultyDisk

MARK = f"{LEDGERS}/current/{last_mark.FILE_NAME}"

Chosen = tuple[str, int] | None
"""A file and one of its bits."""


def of_log(disk: FaultyDisk, random: Random) -> Chosen:
    """Return a bit of an entry log or of a journal, in a group before the last of its file; None if there is no file.

    A last group that has another bit cannot be told from one that a crash has torn before it was acknowledged.
    """
    paths = sorted(each for each in disk.paths() if each.endswith((journal.FILE_SUFFIX, ".log")))
    if not paths:
        return None
    path, bit = random.choice(paths), random.randrange(8 * 5000)
    if path.endswith(journal.FILE_SUFFIX):
        start = journal.HEADER_SIZE + journal.ALIGNMENT
        last_but_one = [start, *sorted(ends_of_groups(disk.content(path)))[:-1]][-1]
        bit %= 8 * last_but_one
    return path, bit


def of_mark(disk: FaultyDisk, random: Random) -> Chosen:
    """Return a bit of the mark without which it is no other mark that might be; None if there is no mark."""
    data = disk.content(MARK)
    bits = list(range(8 * len(data)))
    random.shuffle(bits)
    files = {path: disk.content(path) for path in disk.paths() if path.startswith(JOURNAL)}
    for bit in bits:
        other = bytearray(data)
        other[bit // 8] ^= 1 << bit % 8
        mark = _mark(bytes(other))
        if mark.offset not in ends_of_groups(files.get(_path(mark), b"")):
            return MARK, bit
    return None


def of_index(disk: FaultyDisk, random: Random) -> Chosen:
    """Return a bit of the magic of an index file, or of a location in it that has others; None if there is no file."""
    paths = sorted(each for each in disk.paths() if each.endswith(index.INDEX_SUFFIX))
    if not paths:
        return None
    path = random.choice(paths)
    data = disk.content(path)
    places = range(index.HEADER_SIZE, len(data) - index.LOCATION_SIZE + 1, index.LOCATION_SIZE)
    locations = [at for at in places if int.from_bytes(data[at : at + index.LOCATION_SIZE], "big").bit_count() > 1]
    if not locations or random.random() < 0.2:
        return path, random.randrange(8 * len(index.MAGIC))
    return path, 8 * random.choice(locations) + random.randrange(8 * index.LOCATION_SIZE)


def is_behind(mark: bytes, files: dict[str, bytes]) -> bool:
    """Tell whether a mark is behind the end of a journal that has these files."""
    found = _mark(mark)
    return found.offset > max(ends_of_groups(files.get(_path(found), b"")), default=0)


def goes_on(mark: bytes, files: dict[str, bytes]) -> bool:
    """Tell whether a journal that has these files has a group behind a mark."""
    found = _mark(mark)
    later = [data for path, data in files.items() if path > _path(found)]
    starts = [journal.HEADER_SIZE + journal.ALIGNMENT] * len(later)
    pairs = zip([files.get(_path(found), b""), *later], [found.offset, *starts], strict=True)
    return any(max(ends_of_groups(data), default=0) > offset for data, offset in pairs)


def ends_of_groups(data: bytes) -> set[int]:
    """Return where the groups of a journal file end."""
    ends, found = set(), data.find(journal.SEAL_MAGIC)
    while found >= 0:
        pad_at = found - journal.PAD_HEADER_SIZE
        ends.add(pad_at + journal.seal_pad_size(pad_at))
        found = data.find(journal.SEAL_MAGIC, found + 1)
    return ends


def _mark(data: bytes) -> LogMark:
    found = last_mark.LAST_MARK.parse(data)
    return LogMark(found.journal_id, found.offset)


def _path(mark: LogMark) -> str:
    return f"{JOURNAL}/current/{mark.journal_id:x}{journal.FILE_SUFFIX}"
