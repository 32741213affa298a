"""Java's login configuration, as far as SASL with passwords needs it (docs/guides/configuration.md).

A section names a login module and its options; comments are those of Java::

    Bookie {
      org.apache.zookeeper.server.auth.DigestLoginModule required
        user_bookkeeper-client="secret";
    };
    BookKeeper {
      org.apache.zookeeper.server.auth.DigestLoginModule required
        username="bookkeeper-client" password="secret";
    };
"""

import re
from pathlib import Path

from bookkeeper_tx.errors import InvalidConfig

USER_PREFIX = "user_"
"""An option of a bookie's section whose name starts like this names a user; its value is the password."""

_TOKEN = re.compile(r'\s*(?:(?://|#)[^\n]*|/\*.*?\*/|"((?:[^"\\]|\\.)*)"|([{};=])|([^\s{};="]+))', re.DOTALL)


def users(path: str, section: str) -> dict[str, str]:
    """Return the users, name to password, that a bookie's ``section`` lists.  Raises InvalidConfig."""
    options = _section(path, section)
    found = {name[len(USER_PREFIX) :]: value for name, value in options.items() if name.startswith(USER_PREFIX)}
    if not found:
        raise InvalidConfig(f'{path}: section {section} names no user: write user_NAME="PASSWORD"')
    return found


def credentials(path: str, section: str) -> tuple[str, str]:
    """Return user and password of a client's ``section``.  Raises InvalidConfig."""
    options = _section(path, section)
    if "username" not in options or "password" not in options:
        raise InvalidConfig(f"{path}: section {section} lacks username or password; Kerberos is not supported")
    return options["username"], options["password"]


def has_section(path: str, section: str) -> bool:
    """Tell whether the file has the section.  Raises InvalidConfig for one that cannot be read."""
    return section in _sections(path)


def _section(path: str, section: str) -> dict[str, str]:
    sections = _sections(path)
    if section not in sections:
        raise InvalidConfig(f"{path}: there is no section {section}, only {', '.join(sorted(sections)) or 'none'}")
    return sections[section]


def _sections(path: str) -> dict[str, dict[str, str]]:
    """Return the options of each section, those of several modules together."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidConfig(f"{path}: cannot be read: {error}") from None
    sections: dict[str, dict[str, str]] = {}
    words = _words(path, text)
    while words:
        name, brace, *words = [*words, ""]
        if brace != "{" or "}" not in words:
            # The error does not quote the file: if it is a wrong file, the text may be a password.
            raise InvalidConfig(
                f"{path}: section {len(sections) + 1} is not of the form NAME {{ MODULE FLAG OPTIONS; }};"
            )
        end = words.index("}")
        sections[name] = _options(words[:end])
        words = [word for word in words[end + 1 :] if word]
        if words[:1] == [";"]:
            words = words[1:]
    return sections


def _options(words: list[str]) -> dict[str, str]:
    """Return the words on the left and on the right of each equals sign."""
    at = [index for index, word in enumerate(words) if word == "="]
    return {words[index - 1]: _unquoted(words[index + 1]) for index in at if 0 < index < len(words) - 1}


def _words(path: str, text: str) -> list[str]:
    """Return names, signs and quoted texts; a quoted text keeps its first quotation mark, so that it is no sign."""
    words: list[str] = []
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            line = text.count("\n", 0, position) + 1
            raise InvalidConfig(f"{path}, line {line}: a quotation mark is not closed")
        quoted, sign, word = match.groups()
        if quoted is not None:
            words.append('"' + re.sub(r"\\(.)", r"\1", quoted))
        elif sign or word:
            words.append(sign or word)
        position = match.end()
    return words


def _unquoted(word: str) -> str:
    return word.removeprefix('"')
