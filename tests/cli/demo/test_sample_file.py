"""The file that the demo stores."""

import pytest

from bookkeeper_tx.cli.demo import sample_file


def test_it_is_made_of_sources_until_it_is_large_enough(tmp_path):
    path = tmp_path / "sample"
    files = sample_file.write_sample(path, 100_000)
    sources = list(sample_file.standard_library_sources())[:files]
    assert path.stat().st_size >= 100_000
    assert path.stat().st_size == pytest.approx(sum(source.stat().st_size for source in sources), abs=files)


def test_a_small_library_goes_in_more_than_once(tmp_path, monkeypatch):
    (tmp_path / "one.py").write_bytes(b"pass")
    monkeypatch.setattr(sample_file, "standard_library_sources", lambda: iter([tmp_path / "one.py"]))
    assert sample_file.write_sample(tmp_path / "sample", 12) == 3
    assert (tmp_path / "sample").read_bytes() == b"pass\npass\npass\n"


def test_a_library_without_sources_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(sample_file, "standard_library_sources", lambda: iter([]))
    with pytest.raises(FileNotFoundError, match="--file"):
        sample_file.write_sample(tmp_path / "sample", 12)


def test_a_link_that_leads_nowhere_is_no_source(tmp_path, monkeypatch):
    (tmp_path / "one.py").write_bytes(b"pass")
    (tmp_path / "sitecustomize.py").symlink_to(tmp_path / "missing.py")
    monkeypatch.setattr(sample_file.sysconfig, "get_path", lambda name: str(tmp_path))
    assert list(sample_file.standard_library_sources()) == [tmp_path / "one.py"]
