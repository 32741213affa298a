"""A password on its way from the driver to the tasks."""

from pathlib import Path

from attrs import field, frozen

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.spark.options.options import Options


@frozen
class Secret:
    """Bytes that no ``repr``, plan or log shows; a pickle has them."""

    value: bytes = field(default=b"", repr=False)


def read_password(options: Options) -> Secret:
    """Return the password of the ledgers: the first line of ``passwordFile``, or none.

    The file is read in this process, so call this on the driver.  Raises InvalidConfig.
    """
    if options.password_file is None:
        return Secret()
    try:
        content = Path(options.password_file).read_bytes()
    except OSError as error:
        raise InvalidConfig(
            f"option passwordFile: the file cannot be read: {error.strerror}; it must be readable on the driver"
        ) from None
    return Secret(content.split(b"\n", 1)[0].removesuffix(b"\r"))
