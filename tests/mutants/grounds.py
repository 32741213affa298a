"""Mutants as the suite sees them: what they have need not be found out, for they are our product."""

import threading
from collections.abc import Mapping

from compat_tests.bookie.ground import BookieGround
from compat_tests.client.ground import ClientGround
from compat_tests.judge.case import Dialect
from compat_tests.judge.features import FEATURES

_LACKS = {"metadata": "no: mutants register in SQLite"}


class KnownBookie(BookieGround):
    """Has every feature, as our bookie does; a site is started with the first case for it."""

    def probe(self, seed: int, stop: threading.Event) -> Mapping[str, str]:
        """Say so."""
        return {name: _LACKS.get(name, "yes") for name in FEATURES}


class KnownClient(ClientGround):
    """Speaks both dialects, as our client does."""

    def _speaks(self, dialect: Dialect) -> str:
        return "yes"
