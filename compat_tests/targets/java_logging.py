"""Make the Java programs log: old releases carry Log4j 1, later ones Log4j 2, and neither says anything by itself."""

from __future__ import annotations

from pathlib import Path

_LOG4J_1 = """log4j.rootLogger={level}, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d %-5p %t %c{{1}} - %m%n
"""

#: Its own shutdown hook would end it while the bookie still shuts down, which then trips over the missing logger.
_LOG4J_2 = """status=warn
shutdownHook=disable
appender.console.type=Console
appender.console.name=console
appender.console.target=SYSTEM_ERR
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d %-5p %t %c{{1}} - %m%n
rootLogger.level={level}
rootLogger.appenderRef.console.ref=console
"""


def logging_flags(folder: Path, level: str = "info") -> list[str]:
    """Write a configuration for either Log4j to ``folder`` and give the JVM flags that name it.

    Everything goes to standard error: the client driver speaks its protocol on standard output.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log4j.properties").write_text(_LOG4J_1.format(level=level.upper()), encoding="utf-8")
    (folder / "log4j2.properties").write_text(_LOG4J_2.format(level=level), encoding="utf-8")
    return [
        f"-Dlog4j.configuration=file:{folder / 'log4j.properties'}",
        f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}",
    ]
