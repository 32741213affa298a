"""Fetching jars: only bytes with the locked hash are used."""

import hashlib
from pathlib import Path

import attrs
import pytest

from compat_tests.targets import jars
from compat_tests.targets.lockfile import Jar
from compat_tests.targets.unavailable import Unavailable

_GOOD = b"the jar"
_JAR = Jar("org.example", "thing", "1.0", "", hashlib.sha256(_GOOD).hexdigest())


@attrs.define
class _Repository:
    """Stands for jgo: gives the next of ``downloads`` when the jar is not in the cache."""

    folder: Path
    downloads: list[bytes]
    classifiers: list[str] = attrs.field(factory=list)

    def project(self, group, artifact):
        return self

    def at_version(self, version):
        return self

    def artifact(self, classifier):
        self.classifiers.append(classifier)
        return self

    def resolve(self):
        path = self.folder / "thing.jar"
        if not path.exists():
            if not self.downloads:
                raise RuntimeError("no such artifact")
            path.write_bytes(self.downloads.pop(0))
        return path


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("BKTX_CACHE", str(tmp_path / "cache"))


def _fetch(monkeypatch, repository, *wanted):
    monkeypatch.setattr(jars, "maven_context", lambda folder: repository)
    return jars.fetch(list(wanted))


def test_a_jar_with_the_locked_hash_is_used(monkeypatch, tmp_path):
    (path,) = _fetch(monkeypatch, _Repository(tmp_path, [_GOOD]), _JAR)
    assert path.read_bytes() == _GOOD


def test_a_broken_jar_is_fetched_once_more(monkeypatch, tmp_path):
    repository = _Repository(tmp_path, [b"brok", _GOOD])
    (path,) = _fetch(monkeypatch, repository, _JAR)
    assert path.read_bytes() == _GOOD


def test_a_jar_that_stays_wrong_is_refused_and_removed(monkeypatch, tmp_path):
    with pytest.raises(jars.JarMismatch, match=r"org\.example:thing:1\.0: sha256 is [0-9a-f]{64}, locked is"):
        _fetch(monkeypatch, _Repository(tmp_path, [b"evil", b"evil", _GOOD]), _JAR)
    assert not (tmp_path / "thing.jar").exists()


def test_a_jar_that_cannot_be_fetched_is_unavailable(monkeypatch, tmp_path):
    with pytest.raises(Unavailable, match=r"org\.example:thing:1\.0 could not be fetched: RuntimeError"):
        _fetch(monkeypatch, _Repository(tmp_path, []), _JAR)


def test_the_classifier_is_asked_for(monkeypatch, tmp_path):
    repository = _Repository(tmp_path, [_GOOD])
    _fetch(monkeypatch, repository, attrs.evolve(_JAR, classifier="linux-x86_64"))
    assert repository.classifiers == ["linux-x86_64"]
