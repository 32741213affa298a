"""A login that is used if its file has a section for it, which is looked up where a connection is made."""

from attrs import frozen

from bookkeeper_tx.security import jaas
from bookkeeper_tx.security.sasl import SaslLogin


@frozen
class LoginIfThere:
    """The login of a section that the file may have or not.

    It has a path only, so it can be pickled, shown and logged, like a :class:`.SaslLogin`; the file need not be there
    yet.
    """

    path: str
    """The login configuration (``java.security.auth.login.config``)."""
    section: str
    """The section with ``username`` and ``password``, if the file has it."""

    def found(self) -> SaslLogin | None:
        """Return the login, None if the file has no such section.  Raises InvalidConfig if it cannot be read."""
        return SaslLogin(self.path, self.section) if jaas.has_section(self.path, self.section) else None
