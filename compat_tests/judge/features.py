"""The features that a target may lack, and the file in which a user declares them."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import field, frozen

from compat_tests.judge.divergences import Divergence, parse

FEATURES = {
    "v2": "protocol version V2",
    "v3": "protocol version V3",
    "batch-read-v2": "batch reads over V2 (BP-62)",
    "batch-read-v3": "batch reads over V3",
    "long-poll": "reads that wait for the last add confirmed (V3)",
    "explicit-lac": "WRITE_LAC and READ_LAC (V3)",
    "force": "FORCE_LEDGER (V3)",
    "list-entries": "the list of entries of a ledger (V3)",
    "bookie-info": "GET_BOOKIE_INFO (V3)",
    "scopes": "128-bit ledger ids (BP-34)",
    "metadata": "a ZooKeeper to look into",
}
"""Features by the names under which cases need them."""

_KEYS = {"implementation", "release", "features", "divergence"}


class BadFeatureFile(ValueError):
    """A feature file that makes no sense; the text says where and why."""


@frozen
class FeatureFile:
    """A user's declarations about a target."""

    implementation: str = ""
    release: str = ""
    features: Mapping[str, str] = field(factory=dict)
    divergences: Sequence[Divergence] = ()
    source: str = ""
    """The path of the file."""


def read(path: Path) -> FeatureFile:
    """Read a feature file: TOML with ``implementation``, ``release``, ``[features]`` and ``[[divergence]]``."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadFeatureFile(f"{path}: {error}") from None
    unknown = data.keys() - _KEYS
    if unknown:
        raise BadFeatureFile(f"{path}: no such key: {', '.join(sorted(unknown))}; there are {', '.join(sorted(_KEYS))}")
    features, entries = data.get("features", {}), data.get("divergence", [])
    if not isinstance(features, dict) or not isinstance(entries, list):
        raise BadFeatureFile(f"{path}: features are a table, [features], and divergences are tables, [[divergence]]")
    for name, value in features.items():
        if name not in FEATURES or not isinstance(value, bool):
            raise BadFeatureFile(
                f"{path}: {name} = {value!r}: features are true or false, and these: {', '.join(FEATURES)}"
            )
    try:
        divergences = parse(entries, str(path))
    except ValueError as error:
        raise BadFeatureFile(str(error)) from None
    declared = {name: "yes" if value else f"no: {path.name} says so" for name, value in features.items()}
    implementation, release = (str(data.get(key, "")) for key in ("implementation", "release"))
    return FeatureFile(implementation, release, declared, divergences, str(path))
