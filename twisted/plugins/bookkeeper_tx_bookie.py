"""Makes ``twistd bookie`` known."""

from twisted.application.service import ServiceMaker

bookie = ServiceMaker("bookkeeper_tx bookie", "bookkeeper_tx.tap", "A storage server of Apache BookKeeper.", "bookie")
