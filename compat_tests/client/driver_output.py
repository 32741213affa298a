"""The output of a driver, read as docs/conformance/driver.md has it; a deviation is a fault of the driver."""

from __future__ import annotations

from compat_tests.judge.verdict import Mismatch
from compat_tests.targets.java.driver_process import Reply


class DriverOutput(dict[str, str]):
    """The values of a driver's reply; a missing one raises Mismatch, as it is no fault of the suite."""

    def __init__(self, verb: str, values: Reply) -> None:
        super().__init__(values)
        self.verb = verb

    def __missing__(self, name: str) -> str:
        raise Mismatch(f"the driver's reply to {self.verb}", f"a value {name}", as_text(self))


def number(text: str) -> int:
    """The integer that the driver has written."""
    try:
        return int(text)
    except ValueError:
        raise Mismatch("a value of the driver's", "an integer in decimal", repr(text[:80])) from None


def octets(text: str) -> bytes:
    """The bytes that the driver has written."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise Mismatch("a value of the driver's", "bytes in hexadecimal", repr(text[:80])) from None


def numbers(text: str) -> list[int]:
    """The integers between commas."""
    return [number(part) for part in text.split(",")] if text else []


def as_text(values: Reply) -> str:
    """The values in short."""
    return ", ".join(f"{name}={value[:80]}" for name, value in values.items()) or "no values"
