"""Pulsar's offloader to a file system, for the broker of the tests."""

from pathlib import Path

from compat_tests.targets.jars import pulsar_offloader

PROFILE = """<configuration>
  <property><name>fs.defaultFS</name><value>file:///</value></property>
  <property><name>hadoop.tmp.dir</name><value>{directory}</value></property>
</configuration>
"""
"""What Hadoop is to know: the file system, and the directory for what is offloaded."""


def offloader_settings(work_dir: Path) -> dict[str, str]:
    """The keys of ``broker.conf`` for an offloader that stores below ``work_dir``."""
    offloaders = work_dir / "offloaders"
    offloaders.mkdir(parents=True)
    (offloaders / "tiered-storage-file-system.nar").symlink_to(pulsar_offloader())
    profile = work_dir / "core-site.xml"
    profile.write_text(PROFILE.format(directory=work_dir / "stored"), encoding="utf-8")
    return {
        "managedLedgerOffloadDriver": "filesystem",
        "offloadersDirectory": str(offloaders),
        "narExtractionDirectory": str(work_dir / "extracted"),
        "fileSystemProfilePath": str(profile),
        "fileSystemURI": "file:///",
        "managedLedgerOffloadDeletionLagMs": "0",
    }
