"""Compare the answers of two bookies."""

from collections.abc import Mapping

from compat_tests.wire import v2_replies, v3_replies
from tests.integration.java.talk import Exchange, Outcome


def differences(
    exchange: Exchange, release: tuple[int, ...], of_java: Mapping[str, Outcome], of_ours: Mapping[str, Outcome]
) -> list[str]:
    """Every step with an unknown difference, and every step whose known difference is missing or another."""
    assert of_java.keys() == of_ours.keys()
    assert exchange.differs.keys() <= of_java.keys()
    wrong = []
    for label, outcome in of_java.items():
        known = exchange.difference(label, release)
        if known is None and not same(outcome, of_ours[label]):
            wrong.append(f"{label}: Java {_shown(outcome)}, ours {_shown(of_ours[label])}")
        elif known is not None and same(outcome, of_ours[label]):
            wrong.append(f"{label}: {known.code} is no more: both {_shown(outcome)}")
        elif known is not None and (told(outcome), told(of_ours[label])) != (known.java, known.ours):
            wrong.append(f"{label}: not {known}: Java {_shown(outcome)}, ours {_shown(of_ours[label])}")
    return wrong


def told(outcome: Outcome) -> str:
    """An outcome in a few words."""
    if isinstance(outcome, str):
        return outcome
    return (v2_replies if v3_replies.txn_id_of_reply(outcome) is None else v3_replies).brief(outcome)


def same(one: Outcome, other: Outcome) -> bool:
    """Whether two outcomes are the same, byte for byte, except for fields in which any two bookies differ."""
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    if v3_replies.txn_id_of_reply(one) is None or v3_replies.txn_id_of_reply(other) is None:
        return one == other
    return v3_replies.without_volatile_values(one) == v3_replies.without_volatile_values(other)


def _shown(outcome: Outcome) -> str:
    return told(outcome) if isinstance(outcome, str) else f"{told(outcome)} ({outcome.hex()[:200]})"
