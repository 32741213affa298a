"""The file in which a user declares the features of a target."""

import pytest

from compat_tests.judge.features import BadFeatureFile, read

GOOD = """
implementation = "mine"
release = "1.0"
[features]
force = false
batch-read-v2 = true
[[divergence]]
case = "BKW-ADD-001"
reference = "https://example.org/1"
seen = "EOK"
"""


def test_a_good_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    declared = read(path)
    assert (declared.implementation, declared.release) == ("mine", "1.0")
    assert declared.features == {"force": "no: mine.toml says so", "batch-read-v2": "yes"}
    assert declared.divergences[0].case == "BKW-ADD-001"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("implementation = ", "mine.toml"),
        ("implementaton = 'x'", "no such key: implementaton"),
        ("[features]\nforse = true", "forse"),
        ("[features]\nforce = 'yes'", "force = 'yes'"),
        ("[[divergence]]\ncase = 'x'", "divergence of x"),
        ("features = 5", "features are a table"),
        ("divergence = 5", "divergences are tables"),
        ("divergence = [5]", "divergences are tables"),
    ],
)
def test_a_slip_is_named(tmp_path, text, error):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(BadFeatureFile, match=error):
        read(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BadFeatureFile, match="mine"):
        read(tmp_path / "mine.toml")
