"""Checks that specs, codecs, vectors, ``.ksy`` files and documentation agree: ``python -m protocol_specs check``.

The documentation is checked in a checkout only.
"""

from pathlib import Path
from typing import NamedTuple

from construct import Struct

from protocol_specs import codecs, document
from protocol_specs.declarations import Declaration, all_of_them
from protocol_specs.kaitai import generate
from protocol_specs.vectors import coverage
from protocol_specs.vectors.cases import all_cases
from protocol_specs.vectors.verify import problems

ROOT = Path(__file__).parent.parent


class Group(NamedTuple):
    """The result of one check."""

    name: str
    counted: str
    wrong: list[str]
    remedy: str = ""
    """The command, or the work, that mends it."""
    checked: bool = True


def groups(root: Path) -> list[Group]:
    """Check everything that is there; ``root`` is where a checkout has its ``docs``."""
    return [_codecs(), _vectors(), _coverage(), _kaitai(), _documentation(root)]


def main(root: Path = ROOT) -> int:
    """Print one line for each group, and one for each thing that is wrong; return the exit code."""
    failed = False
    for group in groups(root):
        failed = failed or bool(group.wrong)
        verdict = "WRONG" if group.wrong else "ok" if group.checked else "-"
        print(f"{group.name:<10} {verdict:<6} {group.counted}")
        for line in group.wrong:
            print(f"           {line}")
        if group.wrong and group.remedy:
            print(f"           {group.remedy}")
    return 1 if failed else 0


def _codecs() -> Group:
    """Derive a codec for every declaration of the hot form; its layout must be the declared one."""
    wrong, derived = [], 0
    structs = [each for each in all_of_them() if isinstance(each.value, Struct)]
    for declaration in structs:
        try:
            codec = codecs.derive(declaration.name, declaration.value)
        except codecs.UnsupportedForm:
            continue
        derived += 1
        wrong += _layout_problems(declaration, codec)
    return Group("codecs", f"{derived} derived from {len(structs)} constructs", wrong)


def _layout_problems(declaration: Declaration, codec: codecs.Codec) -> list[str]:
    at = 0
    for name, subcon in zip(codec.fields, declaration.value.subcons, strict=False):
        if codec.offsets[name] != at:
            return [f"{declaration.name}.{name}: the codec has it at {codec.offsets[name]}, the declaration at {at}"]
        at += subcon.sizeof()
    return []


def _vectors() -> Group:
    cases = all_cases()
    wrong = [f"{case} ({case.spec}): {problem}" for case in cases for problem in problems(case)]
    return Group("vectors", f"{len(cases)} messages read, built and cut short", wrong)


def _coverage() -> Group:
    cases, declared = all_cases(), all_of_them()
    missing = [f"{name} has no vector" for name in coverage.uncovered(cases)]
    missing += [f"the field {name} is set in no vector" for name in coverage.unset_fields(cases)]
    remedy = "add it to a file in protocol_specs/vectors, and say where the bytes come from"
    return Group("coverage", f"{len(declared)} declarations have a vector", missing, remedy)


def _kaitai() -> Group:
    remedy = "python -m protocol_specs.kaitai.generate writes them again"
    return Group(".ksy", f"{len(generate.files())} files are what the declarations say", generate.stale(), remedy)


def _documentation(root: Path) -> Group:
    if not (root / "docs").is_dir():
        return Group("docs", "not checked: this is no checkout, there are no docs here", [], checked=False)
    made = len(document.fresh(root))
    remedy = "python -m protocol_specs.document writes them again"
    return Group("docs", f"{made} pages and pictures are what the declarations say", document.stale(root), remedy)
