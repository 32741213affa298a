"""``bookkeeper-conformance bookie``: judge a bookie."""

from pathlib import Path
from typing import Any

import click

from compat_tests.bookie.bookie_environment import BookieEnvironment
from compat_tests.cli.finish import judge_and_report
from compat_tests.cli.options import order_of, read_features, run_options
from compat_tests.judge.case import Role
from compat_tests.targets.target import BadTarget, TargetOptions, parse

_EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option("--address", metavar="HOST:PORT", help="The bookie to judge, as it listens.")
@click.option("--target", metavar="NAME", help="ours, java:RELEASE or docker:RELEASE: started, and stopped at the end.")
@click.option("--metadata", metavar="URI", help="zk+hierarchical://host:port/root, to look at what it registers.")
@click.option("--read-only-address", metavar="HOST:PORT", help="Another one that takes no writes.")
@click.option("--tls-address", metavar="HOST:PORT", help="Another one that serves START_TLS.")
@click.option("--tls-ca", type=_EXISTING, help="PEM: the authority that signed its certificate.")
@click.option("--tls-certificate", type=_EXISTING, help="PEM: the certificate to show to it.")
@click.option("--tls-key", type=_EXISTING, help="PEM: the key of that certificate, without password.")
@click.option("--auth-address", metavar="HOST:PORT", help="Another one that wants SASL DIGEST-MD5.")
@click.option("--auth-user", default="", help="The user to log in as.")
@click.option(
    "--auth-password",
    default="",
    envvar="BOOKKEEPER_AUTH_PASSWORD",
    show_envvar=True,
    help="Better in the environment.",
)
@click.option("--tls-auth-address", metavar="HOST:PORT", help="Another one that wants both.")
@click.option(
    "--control",
    metavar="COMMAND",
    help="Called with start, stop, kill or remove, and the name of a bookie, for the cases about restarts and crashes; "
    "docs/conformance/ten-minutes.md has one.",
)
@run_options
def bookie(address: str | None, target: str | None, features_path: Path | None, **options: Any) -> None:
    """Judge a bookie.

    \b
      bookkeeper-conformance bookie --address 127.0.0.1:3181 --html report.html

    An address is enough to begin with; the end of the output names the options that would have more checked.  The
    bookie keeps the entries that are written to it: use one that may be thrown away.

    Exit code: 0 if it conforms, 1 if not, also where nobody listens, 2 for a mistake in the options, 3 for a fault of
    the suite, 4 if a --target could not be had, 130 if interrupted.
    """
    if (address is None) == (target is None):
        raise click.UsageError("give either --address HOST:PORT or --target ours|java:RELEASE|docker:RELEASE")
    feature_file = read_features(features_path)
    names = (
        "metadata", "read_only_address", "tls_address", "tls_ca", "tls_certificate", "tls_key", "auth_address",
        "auth_user", "auth_password", "tls_auth_address", "control",
    )  # fmt: skip
    chosen = TargetOptions(
        implementation=feature_file.implementation,
        release=feature_file.release,
        with_metadata=True,
        **{name: options.pop(name) for name in names},
    )
    try:
        bookie_target = parse(address or target or "", chosen)
    except BadTarget as error:
        raise click.UsageError(str(error)) from None
    order = order_of(Role.BOOKIE, feature_file, bookie_target.implementation, options)
    judge_and_report(bookie_target, BookieEnvironment, order, options)
