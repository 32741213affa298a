"""The page about the architecture is true of the tree."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")


def test_files_that_the_page_names_exist() -> None:
    prose = re.sub(r"<!-- rooms .*?<!-- end of rooms -->", "", TEXT, flags=re.S)
    named = re.findall(r"`([\w.]+(?:/[\w.-]+)*/(?:[\w-]+\.\w+)?)`", prose)
    assert len(named) > 10
    places = [(ROOT / name, ROOT / "bookkeeper_tx" / name) for name in named]
    assert [str(one) for one, other in places if not one.exists() and not other.exists()] == []


def test_adding_has_one_name_in_every_tree() -> None:
    example = TEXT[TEXT.index("one name in every tree") : TEXT.index("If the answer to")]
    files = re.findall(r"`([\w/.-]+)`", example)
    assert len(files) > 5
    assert {Path(file).stem.removeprefix("test_").replace("-", "_") for file in files} == {"add_entry"}
    assert [file for file in files if not (ROOT / file).is_file()] == []
