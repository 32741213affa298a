"""Questions to the Java driver about lists of entries, and the parsing of its answers."""

from collections.abc import Mapping

from compat_tests.targets.java.entry_list import Answer, Question, decode, encode


class Driver:
    """Gives the answer that it was made with, and keeps the request."""

    def __init__(self, **reply: str) -> None:
        self.reply = reply
        self.asked: tuple[str, Mapping[str, object]] = ("", {})

    def call(self, verb: str, timeout_s: float = 60, **values: object) -> Mapping[str, str]:
        self.asked = (verb, values)
        return self.reply


def test_sets_go_ascending_and_empty_ones_keep_their_place():
    driver = Driver(lists="00ff;;01")
    assert encode(driver, [[3, 1, 2], [], {7}]) == [b"\x00\xff", b"", b"\x01"]
    assert driver.asked == ("encode_entry_lists", {"sets": "1,2,3;;7"})


def test_answers_are_those_of_the_lists():
    driver = Driver(counts="2;0", found="1,5;", missing=";3,4")
    answers = decode(driver, [Question(b"\x00", [1, 5], []), Question(b"\x01", [], [3, 4])])
    assert answers == [Answer(2, [1, 5], []), Answer(0, [], [3, 4])]
    assert driver.asked == ("decode_entry_lists", {"lists": "00;01", "probed": "1,5;", "expected": ";3,4"})
