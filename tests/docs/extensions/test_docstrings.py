"""What becomes of docstrings on the pages of the API."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent.parent.parent


def _extension() -> ModuleType:
    spec = spec_from_file_location("docstrings", ROOT / "docs/_extensions/docstrings.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_citation_becomes_a_link() -> None:
    lines = ["Protocol: docs/protocol/v2.md, docs/protocol/add-entry.md#sec-add-entry-client."]
    _extension().link_citations(None, "method", "", None, None, lines)
    assert lines == ["Protocol: :doc:`/protocol/v2`, :doc:`/protocol/add-entry` (:ref:`sec-add-entry-client`)."]


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("ClientConfig.frame_size_max", "Default: ``5242880``, which is 5 MiB."),
        ("ClientConfig.protocol", "Default: ``'v2'``."),
        ("ClientConfig.explicit_lac_interval_s", "Default: ``0.0``."),
        ("BookieConfig.metadata_uri", "Required."),
    ],
)
def test_a_field_says_its_default(field: str, said: str) -> None:
    lines = ["What it is.", ""]
    _extension().add_default(None, "attribute", f"bookkeeper_tx.{field}", None, None, lines)
    assert lines == [f"What it is.  {said}", ""]
