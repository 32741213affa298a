"""JSON whose differences people read."""

import json

from compat_tests.report.json_rows import json_rows


def test_each_item_has_a_line() -> None:
    data = {"form": 1, "rows": [{"a": [1, 2]}, "é"], "names": {"b": ["c"], "d": "e"}, "none": [], "nothing": {}}
    text = json_rows(data)
    assert json.loads(text) == data
    assert text.splitlines() == [
        "{",
        '"form": 1,',
        '"rows": [',
        ' {"a":[1,2]},',
        ' "é"',
        "],",
        '"names": {',
        ' "b": ["c"],',
        ' "d": "e"',
        "},",
        '"none": [],',
        '"nothing": {}',
        "}",
    ]


def test_an_item_more_is_a_line_more() -> None:
    few, many = (set(json_rows({"rows": list(range(count))}).splitlines()) for count in (10, 11))
    assert many - few == {" 9,", " 10"}
