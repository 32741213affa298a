"""Options that name a ledger: by a number, by a number in a scope, or by a qualified name (BP-34)."""

import functools
from collections.abc import Callable
from typing import Any

import click

from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.model import LedgerId, check_ledger_id
from bookkeeper_tx.text.ledger_scope import ledger_scope
from protocol_specs import ledger_id as ids


def number_or_name(text: str) -> int:
    """Return the id in decimal, or that of a qualified name of 32 digits; no number has that many."""
    if len(text) == ids.QUALIFIED_NAME_LENGTH:
        return LedgerId.of_name(text)
    try:
        return int(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is neither a number nor 32 hexadecimal digits") from None


def _qualified_name(**settings: Any) -> Callable[[Any], Any]:
    return click.option(
        "--ledger-qualified-name",
        "qualified_name",
        metavar="HEX",
        help="Scope and ledger id in one: up to 32 hexadecimal digits.",
        **settings,
    )


def ledger(command: Callable[..., Any]) -> Any:
    """Add an argument and options for one ledger; the command gets ``ledger_id``, whatever scope it is in."""

    @click.argument("given", required=False, metavar="LEDGER_ID")
    @ledger_scope
    @_qualified_name()
    @functools.wraps(command)
    def with_ledger(*args: Any, given: str | None, scope_id: int, qualified_name: str | None, **others: Any) -> Any:
        if (given is None) is (qualified_name is None):
            raise click.UsageError("say which ledger: LEDGER_ID, or --ledger-qualified-name HEX")
        return command(*args, ledger_id=_whole(given, scope_id, qualified_name), **others)

    return with_ledger


def only_ledger(help_text: str) -> Callable[[Callable[..., Any]], Any]:
    """Add options for a ledger that a command may be limited to; the command gets ``ledger_id``, None for all."""

    def decorate(command: Callable[..., Any]) -> Any:
        @click.option("--ledger-id", "given", metavar="N", help=help_text)
        @ledger_scope
        @_qualified_name()
        @functools.wraps(command)
        def with_ledger(*args: Any, given: str | None, scope_id: int, qualified_name: str | None, **others: Any) -> Any:
            if given is not None and qualified_name is not None:
                raise click.UsageError("give --ledger-id or --ledger-qualified-name, not both")
            named = given is not None or qualified_name is not None
            if scope_id and not named:
                raise click.UsageError("--ledger-scope-id is the scope of a ledger: give --ledger-id, too")
            return command(*args, ledger_id=_whole(given, scope_id, qualified_name) if named else None, **others)

        return with_ledger

    return decorate


def ledgers(command: Callable[..., Any]) -> Any:
    """Add an argument and options for some ledgers; the command gets ``ledger_ids``."""

    @click.argument("given", nargs=-1, metavar="[LEDGER_ID]…")
    @ledger_scope
    @_qualified_name(multiple=True)
    @functools.wraps(command)
    def with_ledgers(
        *args: Any, given: tuple[str, ...], scope_id: int, qualified_name: tuple[str, ...], **others: Any
    ) -> Any:
        if not (given or qualified_name):
            raise click.UsageError("say which ledgers: LEDGER_ID…, or --ledger-qualified-name HEX")
        found = [_whole(each, scope_id, None) for each in given]
        found += [_whole(None, scope_id, each) for each in qualified_name]
        return command(*args, ledger_ids=tuple(found), **others)

    return with_ledgers


def new_ledger(command: Callable[..., Any]) -> Any:
    """Add options for the id of a new ledger; the command gets ``wanted``, arguments of ``create_ledger``."""

    @click.option(
        "--ledger-id",
        "given",
        metavar="N",
        help="Id to take; default: the next one, in other scopes than 0 a random one.",
    )
    @ledger_scope
    @_qualified_name()
    @click.option("--random-id", is_flag=True, help="Take 128 random bits (a UUID); no generator is asked.")
    @functools.wraps(command)
    def with_new_ledger(
        *args: Any, given: str | None, scope_id: int, qualified_name: str | None, random_id: bool, **others: Any
    ) -> Any:
        if random_id and (given, scope_id, qualified_name) != (None, 0, None):
            raise click.UsageError("--random-id draws scope and ledger id: leave the other options for the id out")
        if given is not None and qualified_name is not None:
            raise click.UsageError("give --ledger-id or --ledger-qualified-name, not both")
        wanted: dict[str, Any] = {"scope_id": 0}
        if random_id:
            wanted["ledger_id"] = LedgerId.random()
        elif given is None and qualified_name is None:
            wanted["scope_id"] = scope_id
        else:
            wanted["ledger_id"] = _whole(given, scope_id, qualified_name)
        return command(*args, wanted=wanted, **others)

    return with_new_ledger


def _whole(given: str | None, scope_id: int, qualified_name: str | None) -> int:
    try:
        ledger_id = number_or_name(given) if given is not None else LedgerId.of_name(qualified_name or "")
        named_whole = given is None or len(given) == ids.QUALIFIED_NAME_LENGTH or ledger_id >= ids.SCOPED_MIN
        if scope_id and named_whole:
            raise click.UsageError("a qualified name names the scope already: leave --ledger-scope-id out")
        return LedgerId(ledger_id, scope_id) if scope_id else check_ledger_id(ledger_id)
    except InvalidArgument as error:
        raise click.BadParameter(str(error)) from None
