"""Files of Java's properties: ``bk_server.conf``, ``bk_cli_client.conf`` (docs/guides/configuration.md)."""

from pathlib import Path

from attrs import frozen

from bookkeeper_tx.errors import InvalidConfig


@frozen
class Setting:
    """One line of a file."""

    path: str
    line: int
    key: str
    value: str

    @property
    def where(self) -> str:
        return f"{self.path}, line {self.line}: {self.key}"

    def refuse(self, reason: str) -> InvalidConfig:
        """Return the error for a wrong value; ``reason`` says why it is wrong."""
        return InvalidConfig(f"{self.where} = {self.value}: {reason}")

    def integer(self, minimum: int, maximum: int = 2**63 - 1) -> int:
        try:
            number = int(self.value)
        except ValueError:
            raise self.refuse("not a whole number") from None
        if not minimum <= number <= maximum:
            raise self.refuse(
                f"must be {minimum} to {maximum}" if maximum < 2**63 - 1 else f"must be {minimum} or more"
            )
        return number

    def part(self) -> float:
        """Return a number above 0, and 1 at most."""
        number = self._number()
        if not 0 < number <= 1:
            raise self.refuse("must be above 0, and 1 at most")
        return number

    def rate(self) -> float:
        """Return a number that is 0 or more."""
        number = self._number()
        if not 0 <= number < float("inf"):
            raise self.refuse("must be 0 or more")
        return number

    def threshold(self) -> float:
        """Return a number that is 1 at most."""
        number = self._number()
        if not number <= 1:
            raise self.refuse("must be 1 at most")
        return number

    def _number(self) -> float:
        try:
            return float(self.value)
        except ValueError:
            raise self.refuse("not a number") from None

    def boolean(self) -> bool:
        if self.value.lower() not in ("true", "false"):
            raise self.refuse("must be true or false")
        return self.value.lower() == "true"

    def class_name(self) -> str:
        """Return the name of a Java class without its package."""
        return self.value.rpartition(".")[2]


def read_properties(path: str) -> dict[str, Setting]:
    """Return the settings of a file by key.  Raises InvalidConfig."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidConfig(f"{path}: cannot be read: {error}") from None
    settings: dict[str, Setting] = {}
    for number, line in _logical_lines(text):
        key, separator, value = line.partition(next((each for each in line if each in "=:"), "="))
        setting = Setting(path, number, key.strip(), value.strip().replace("\\,", ",").replace("\\\\", "\\"))
        if not separator or not setting.key:
            raise InvalidConfig(f"{path}, line {number}: {line}: not of the form key=value")
        if setting.key == "include":
            raise setting.refuse("other files are not included: copy their lines here")
        if "${" in setting.value:
            raise setting.refuse("variables are not expanded: write the value")
        if setting.key in settings:
            raise setting.refuse(f"given twice, first in line {settings[setting.key].line}: keep one")
        settings[setting.key] = setting
    return settings


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Return number and text of each line that is no comment; a line that ends in a backslash includes the next one."""
    lines: list[tuple[int, str]] = []
    started, parts = 0, ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not parts and (not line or line[0] in "#!"):
            continue
        started = started or number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            parts += line[:-1]
            continue
        lines.append((started, parts + line))
        started, parts = 0, ""
    if parts:
        lines.append((started, parts))
    return lines
