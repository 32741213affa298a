"""``python -m compat_tests.corpus.make``: write the corpus from its recipes; ``--check`` only compares."""

import json
import sys
from typing import Any

from compat_tests.corpus import recipes_protobuf, recipes_streams, recipes_v2, recipes_v3
from compat_tests.corpus.invalid_input import DIRECTORY, FORMAT, checksum, streams_of
from compat_tests.corpus.recipe import Recipe, RecipeClass

CLASSES: tuple[RecipeClass, ...] = (
    *recipes_streams.CLASSES,
    *recipes_v2.CLASSES,
    *recipes_v3.CLASSES,
    *recipes_protobuf.CLASSES,
)


def text_of(each: RecipeClass) -> str:
    """The file of a class."""
    content = {
        "format": FORMAT,
        "class": each.name,
        "about": each.about,
        "inputs": [_entry(recipe) for recipe in each.recipes],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _entry(recipe: Recipe) -> dict[str, Any]:
    streams = tuple(streams_of(recipe.streams))
    return {
        "name": recipe.name,
        "dialect": recipe.dialect,
        "about": recipe.about,
        "streams": recipe.streams,
        "count": len(streams),
        "size": sum(map(len, streams)),
        "sha256": checksum(streams),
        "expect": recipe.expect,
    }


def main(arguments: list[str]) -> int:
    """Write the files, or compare them; 1 if one differs."""
    stale = []
    for each in CLASSES:
        path, text = DIRECTORY / f"{each.name}.json", text_of(each)
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
    if stale:
        print(f"not what the recipes say: {', '.join(stale)}; run python -m compat_tests.corpus.make")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
