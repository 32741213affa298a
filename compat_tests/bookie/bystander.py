"""The client beside a case: it does nothing wrong, and must come to no harm."""

from compat_tests.bookie.login import log_in
from compat_tests.bookie.talk import BYSTANDER, Talk
from compat_tests.bookie.tls_upgrade import secure
from compat_tests.targets.sites import TLS, TLS_AUTH


def let_in(talk: Talk) -> None:
    """Have the bystander served before the case begins: inside TLS, and logged in, if the site is for that.

    There is no bystander if no authority is known for the bookie's certificate.
    """
    site = talk.site
    if talk.brief.case.site in (TLS, TLS_AUTH):
        if site.tls is None:
            return
        secure(talk, talk.line(BYSTANDER))
    if site.credentials is not None:
        log_in(talk, talk.line(BYSTANDER))
    talk.begin()
