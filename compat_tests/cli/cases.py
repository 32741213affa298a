"""See the cases without running them."""

import textwrap

import click

from compat_tests.catalogue import load, select
from compat_tests.judge.case import CATALOGUE, Role


@click.command("list")
@click.argument("pattern", nargs=-1)
@click.option("--role", type=click.Choice([str(role) for role in Role]), help="Of one role only.")
def list_cases(pattern: tuple[str, ...], role: str | None) -> None:
    """Show the cases: all, or some.

    A PATTERN is an id, an area or a section; * stands for any characters.

    \b
      bookkeeper-conformance list 'BKW-READ-*' FENCE
    """
    try:
        found = select(load(Role(role) if role else None), pattern)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    for case in found:
        click.echo(f"{case.id:<16} {case.role:<7} {case.level:<7} {'+'.join(case.dialects):<6} {case.title}")
    click.echo(f"{len(found)} cases")


@click.command()
@click.argument("case_id")
def show(case_id: str) -> None:
    """Show one case.

    What it requires, what it sends and accepts, and where that is written.
    """
    load()
    case = CATALOGUE.get(case_id.upper())
    if case is None:
        raise click.UsageError(f"there is no case {case_id}: `bookkeeper-conformance list` shows what there is")
    click.echo(f"{case.id}  {case.title}\n")
    click.echo(textwrap.fill(case.requirement, 100) + "\n")
    rows = {
        "level": case.level,
        "role": case.role,
        "section": case.section,
        "dialects": ", ".join(case.dialects),
        "releases": f"{case.since or 'all'}{' to ' + case.until if case.until else ' and later' if case.since else ''}",
        "sends": case.sends,
        "accepts": case.accepts,
        "needs": ", ".join(case.needs),
        "after": ", ".join(case.after),
        "site": case.site,
        "from": case.provenance,
        "code": case.module,
    }
    for name, text in rows.items():
        if text:
            click.echo(textwrap.fill(text, 100, initial_indent=f"{name:<10}", subsequent_indent=" " * 10))
