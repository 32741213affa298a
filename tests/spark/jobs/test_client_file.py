"""A client's file as options of a job's tables."""

import importlib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bookkeeper_tx.cli.main import Session, bktx
from bookkeeper_tx.spark.jobs.summary import ExitCode

KEY = "bookkeeper.client."
ARGUMENTS = {
    "stats": ("cluster_stats", []),
    "export": ("export_ledgers", ["--output", "/x"]),
    "scrub": ("scrub_replicas", []),
    "copy": ("copy_ledgers", ["--to", "zk://b", "--sink-id", "s"]),
    "import": ("import_files", ["--sink-id", "s", "--input", "/i"]),
    "entrylog": ("entry_logs", ["/logs"]),
    "sweep": ("sweep_sinks", []),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "client.conf"
    path.write_text(
        "zkEnableSecurity=true\njava.security.auth.login.config=/jaas\nreadEntryTimeoutSec=7\nzkTimeout=1\n"
    )
    return path


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run ``bktx spark`` with these arguments; return the settings of the job and what was said."""

    def run(before: list[str], job: str, *more: str, **variables: str) -> tuple[Any, str]:
        module, arguments = ARGUMENTS[job]
        found: list[Any] = []
        monkeypatch.setattr(
            importlib.import_module(f"bookkeeper_tx.spark.jobs.{module}"),
            "launch",
            lambda _, settings, **how: found.append(settings),
        )
        command = [*before, "spark", job, "--metadata", "zk://a", *arguments, *more]
        result = CliRunner().invoke(bktx, command, obj=Session(), env=variables, catch_exceptions=False)
        assert result.exit_code == (0 if found else ExitCode.USAGE), result.output
        return (found or [None])[0], result.output

    return run


def cluster_of(settings: Any) -> Any:
    return settings.cluster if hasattr(settings, "cluster") else settings.sink


EXPECTED = {
    f"{KEY}zkEnableSecurity": "true",
    f"{KEY}java.security.auth.login.config": "/jaas",
    f"{KEY}readEntryTimeoutSec": "7",
}


@pytest.mark.parametrize("job", [each for each in ARGUMENTS if each != "sweep"])
def test_each_job_takes_the_file_of_a_client(launched: Any, file: Path, job: str) -> None:
    settings, said = launched([], job, "--client-config", str(file))
    assert cluster_of(settings).options.items() >= EXPECTED.items()
    assert f"warning: {file}, line 4: zkTimeout does nothing here" in said
    of_bktx, _ = launched(["--client-config", str(file)], job)
    assert of_bktx == settings
    of_variable, _ = launched([], job, BKTX_CLIENT_CONFIG=str(file))
    assert of_variable == settings
    assert not cluster_of(launched([], job)[0]).options.keys() & EXPECTED.keys()


def test_the_sweep_takes_that_of_bktx_too(launched: Any, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.conf"
    other.write_text("")
    assert launched(["--client-config", str(file)], "sweep")[0].client_config == str(file)
    before = ["--client-config", str(file)]
    assert launched(before, "sweep", BKTX_CLIENT_CONFIG=str(other))[0].client_config == str(file)
    assert launched(before, "sweep", "--client-config", str(other))[0].client_config == str(other)


def test_a_sink_beside_another_cluster_has_a_file_of_its_own(launched: Any, file: Path) -> None:
    settings, _ = launched(["--client-config", str(file)], "copy")
    assert (settings.sink.options, settings.cluster.options) == ({}, EXPECTED)
    settings, _ = launched([], "copy", "--sink-client-config", str(file))
    assert (settings.sink.options, settings.cluster.options) == (EXPECTED, {})


def test_an_option_overrides_the_file(launched: Any, file: Path) -> None:
    option = f"{KEY}readentrytimeoutsec"
    settings, _ = launched([], "stats", "--client-config", str(file), "-O", f"{option}=9")
    left = {name: value for name, value in EXPECTED.items() if name.lower() != option}
    assert settings.cluster.options == {**left, option: "9"}


@pytest.mark.parametrize("secure", ["true", "false"])
def test_a_password_in_the_file_does_not_travel(launched: Any, file: Path, secure: str) -> None:
    file.write_text(f"zookeeper.client.secure={secure}\nzookeeper.ssl.keyStore.password=hunter2\n")
    settings, said = launched([], "stats", "--client-config", str(file))
    assert settings is None
    assert "a password in the configuration is not read; name a file with it" in " ".join(said.split())
    assert "hunter2" not in said
