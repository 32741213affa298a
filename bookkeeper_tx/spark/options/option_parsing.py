"""From the texts that Spark hands over to :class:`~bookkeeper_tx.spark.options.options.Options`."""

import difflib
from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import Attribute, fields

from bookkeeper_tx.errors import InvalidArgument, InvalidConfig
from bookkeeper_tx.spark.options.option import Option, Use, mapping_of, option_name, option_of

Parsed = TypeVar("Parsed")

SPARKS_OWN = frozenset({"checkpointlocation", "queryname"})
"""Options that Spark acts on itself, and hands over as well."""
SPARKS_PREFIX = "asyncprogresstracking"

SELECTORS = ("ledger", "ledgers", "ledger_metadata", "manifest")


def parse(kind: type[Parsed], values: Mapping[str, str], use: Use) -> Parsed:
    """Parse options, as :meth:`Options.from_spark` says."""
    attributes: dict[str, Attribute[Any]] = {}
    names: dict[str, str] = {}
    for attribute in fields(kind):  # type: ignore[arg-type]  # an attrs class
        name = option_name(attribute)
        attributes[name] = attribute
        names[name.lower()] = name
        if alias := option_of(attribute).alias:
            names[alias.lower()] = name
    given = _by_name(values, names, attributes, use)
    found = {attributes[name].name: _value(name, option_of(attributes[name]), value) for name, value in given.items()}
    for name, attribute in attributes.items():
        if option_of(attribute).required & use and attribute.name not in found:
            raise InvalidConfig(f"option {name} is missing: {option_of(attribute).text}")
    parsed = kind(**found)
    _check(parsed, found, use)
    return parsed


def _by_name(
    values: Mapping[str, str], names: Mapping[str, str], attributes: "Mapping[str, Attribute[Any]]", use: Use
) -> dict[str, Any]:
    """Return the given values by their names in the table of options."""
    given: dict[str, Any] = {}
    for key, value in values.items():
        lower = key.lower()
        prefix = next((name for name in names if name.endswith(".") and lower.startswith(name)), None)
        name = names.get(prefix or lower)
        if name is None or not option_of(attributes[name]).uses & use:
            if lower in SPARKS_OWN or lower.startswith(SPARKS_PREFIX):
                continue
            raise _unknown(key, name, [each for each in attributes if option_of(attributes[each]).uses & use])
        if name in given and prefix is None:
            raise InvalidConfig(f"option {name} is given twice, once as {option_of(attributes[name]).alias}: keep one")
        given[name] = value if prefix is None else mapping_of(name, values)
    return given


def _unknown(key: str, name: str | None, known: list[str]) -> InvalidConfig:
    """Return the error for a name that is not in the table, or does nothing here.  It shows no value: that may be a
    password."""
    if key.lower() in ("password", "ledgerpassword"):
        return InvalidConfig(
            f"option {key}: options show up in plans and logs; write the password into a file, "
            "and name the file by passwordFile"
        )
    if key.lower() == "path":
        return InvalidConfig(
            "option path does nothing here: leave it out. Options, and not the path of load(), save() or start(), name "
            "what is meant: metadataServiceUri the cluster, ledger or ledgers what is read, sinkId what is written"
        )
    if name is not None:
        return InvalidConfig(f"option {name} does nothing here: leave it out. Options here are {', '.join(known)}")
    lower = {each.lower(): each for each in known}
    close = [lower[each] for each in difflib.get_close_matches(key.lower(), lower, n=3)]
    hint = f"did you mean {' or '.join(close)}?" if close else f"options here are {', '.join(known)}"
    return InvalidConfig(f"option {key} is not known; {hint}")


def _value(name: str, option: Option, value: Any) -> Any:
    if option.prefix:
        if "" in value:
            raise InvalidConfig(f"option {name} = {value['']!r}: a key is missing after the dot, as in {name}<key>")
        return {key: _value(name + key, _without_prefix(option), each) for key, each in value.items()}
    if value is None:
        raise InvalidConfig(f"option {name} has no value: leave it out, or write {option.kind.form}")
    try:
        return option.kind.parse(value)
    except (ValueError, InvalidArgument) as error:
        shown = "(not shown)" if option.secret else repr(option.kind.shown(value))
        reason = str(error) if type(error) is not ValueError or _speaks(error) else ""
        raise InvalidConfig(
            f"option {name} = {shown}: {reason + '; ' if reason else ''}write {option.kind.form}"
        ) from None


def _speaks(error: ValueError) -> bool:
    """Return whether the text is ours: Python's own about literals says less than the form."""
    return bool(error.args) and not str(error).startswith(("invalid literal", "Exceeds the limit"))


def _without_prefix(option: Option) -> Option:
    return Option(kind=option.kind, uses=option.uses, text=option.text, secret=option.secret)


def _check(parsed: Any, found: Mapping[str, Any], use: Use) -> None:
    """Refuse options that do not go together."""
    selectors = [each for each in SELECTORS if each in found]
    shown = "ledger, ledgers, ledgerMetadata.<key> or manifest"
    if len(selectors) > 1:
        names = " and ".join(option_name_of(parsed, each) for each in selectors)
        raise InvalidConfig(f"options {names} exclude each other: keep one of {shown}")
    if not selectors and use & Use.ENTRIES:
        raise InvalidConfig(f"no ledgers are named: give one of {shown}; ledgers=0- is all of them")
    if parsed.max_entries_per_trigger is not None and parsed.max_bytes_per_trigger is not None:
        raise InvalidConfig("options maxEntriesPerTrigger and maxBytesPerTrigger exclude each other: keep one")
    if parsed.include_lost and parsed.fail_on_data_loss:
        raise InvalidConfig("option includeLost does nothing unless failOnDataLoss is false")
    if parsed.allow_recovery and "read_mode" in found and parsed.read_mode.name == "CLOSED":
        raise InvalidConfig("options allowRecovery=true and readMode=closed contradict each other: keep one")
    if not parsed.ensemble_size >= parsed.write_quorum_size >= parsed.ack_quorum_size:
        raise InvalidConfig(
            f"ensembleSize {parsed.ensemble_size} >= writeQuorumSize {parsed.write_quorum_size} >= "
            f"ackQuorumSize {parsed.ack_quorum_size} does not hold"
        )
    if (parsed.txn_app_id is None) != (parsed.txn_version is None):
        raise InvalidConfig("options txnAppId and txnVersion belong together: give both, or neither")


def option_name_of(parsed: Any, field: str) -> str:
    """Return the name in Spark of a field of an attrs value."""
    return option_name(next(each for each in fields(type(parsed)) if each.name == field))
