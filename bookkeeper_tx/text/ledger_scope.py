"""The option of command lines that names the scope of a ledger (BP-34): one for every command that names ledgers."""

import click

ledger_scope = click.option(
    "--ledger-scope-id",
    "scope_id",
    type=int,
    metavar="N",
    default=0,
    show_default=True,
    help="Scope of the ledger, or ledgers (BP-34).",
)
"""A decorator: the command gets ``scope_id``."""
