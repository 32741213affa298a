"""Several directories in one option, or in one value of a file: ``/disk1/bk, /disk2/bk``."""

from bookkeeper_tx.errors import InvalidConfig


def listed(text: str, where: str) -> tuple[str, ...]:
    """Return the names between the commas of ``text``, without the spaces around them; none if it is empty.

    Raises InvalidConfig, which names ``where``, for an empty name: as a path it would be the working directory.
    """
    names = tuple(name.strip() for name in text.split(",")) if text.strip() else ()
    if not all(names):
        raise InvalidConfig(f"{where} {text}: a name is missing before or after a comma")
    return names
