"""The package as a zip file for ``spark-submit --py-files``, for machines on which it is not installed."""

from pathlib import Path
from zipfile import ZipFile

from tests.integration.spark.spark_session import ROOT


def make_archive(path: Path) -> Path:
    """Make a zip file of the packages that the formats need; return its path."""
    with ZipFile(path, "w") as file:
        for package in ("bookkeeper_tx", "protocol_specs"):
            for each in (ROOT / package).rglob("*"):
                if each.is_file() and "__pycache__" not in each.parts:
                    file.write(each, each.relative_to(ROOT))
    return path
