"""``/api/v1/bookie/expand_storage``: new, empty directories of the configuration get their cookies."""

from twisted.logger import Logger

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import FAILED, NOT_FOUND, Answer
from bookkeeper_tx.bookie.http.call import Call
from bookkeeper_tx.errors import BookKeeperError

log = Logger()


async def expand_storage(call: Call, bookie: Administered) -> Answer:
    if call.method != "PUT":
        return Answer("Not found method. Should be PUT method", NOT_FOUND)
    try:
        await bookie.check_cookies()
    except BookKeeperError as error:
        log.error("storage is not expanded: {error}", error=error)
        return Answer(f"Exception while updating cookie for storage expansion: {error}", FAILED)
    return Answer("Success expand storage")
