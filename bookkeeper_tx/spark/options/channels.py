"""Connections to the bookies of a read, as the options want them."""

from collections.abc import Mapping

from bookkeeper_tx.model import BookieId, BookieServiceInfo
from bookkeeper_tx.spark.bookies.bookie_channels import BookieChannels
from bookkeeper_tx.spark.bookies.rate_limit import RateLimit
from bookkeeper_tx.spark.options.client_config import client_config
from bookkeeper_tx.spark.options.options import Options
from protocol_specs.metadata.bookie import BATCH_READ_V3


def channels_to(
    bookies: Mapping[BookieId, BookieServiceInfo], options: Options, limits: RateLimit | None = None
) -> BookieChannels:
    """Return channels to these bookies; none is open yet."""
    return BookieChannels(
        addresses_of(bookies),
        client_config(options),
        limits,
        batch_read_v3=[bookie for bookie, info in bookies.items() if BATCH_READ_V3 in (info.extensions or ())],
    )


def rate_limit(options: Options) -> RateLimit | None:
    """Return how fast one task may go at one bookie, None for as fast as it can."""
    entries, size = options.max_entries_per_second_per_bookie, options.max_bytes_per_second_per_bookie
    return None if entries is None and size is None else RateLimit(entries_per_s=entries, bytes_per_s=size)


def addresses_of(bookies: Mapping[BookieId, BookieServiceInfo]) -> dict[BookieId, tuple[str, int]]:
    """Return where these bookies listen."""
    return {bookie: (info.host, info.port) for bookie, info in bookies.items()}
