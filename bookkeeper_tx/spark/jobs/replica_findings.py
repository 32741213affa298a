"""Damage of replicas as a DataFrame: from the rows of format ``bookkeeper-replicas`` to findings.

A finding is about a range of entries (of one stripe) on one bookie, or about a range of entries on all bookies.  Whole
parts of a ledger are compared first.  The entries of a part are looked at one by one if its copies differ, unless the
only difference is that a bookie has none of them.
"""

from typing import Any

COLUMNS = (
    "kind",
    "scope_id",
    "ledger_id",
    "first_entry",
    "last_entry",
    "entries",
    "stripe",
    "bookie",
    "good_copies",
    "wanted_copies",
    "detail",
)

MISSING = "missing"
"""A bookie that should have these entries says that it does not."""
CORRUPT = "corrupt"
"""A bookie's copy does not match its digest."""
DIVERGENT = "divergent"
"""A bookie's copy matches its digest, but differs from that of most bookies; without a majority, every copy."""
STORAGE_FAILED = "storage-failed"
"""A bookie answers that it cannot read these entries from its disk (EIO)."""
UNREACHABLE = "unreachable"
"""A bookie has not answered, or answers another error, as that it does not take our credentials; the detail says it."""
UNDER_REPLICATED = "under-replicated"
"""There is at least one good copy, but fewer than the ledger wants."""
LOST = "lost"
"""No bookie has given a good copy."""
UNREADABLE = "unreadable"
"""A ledger whose metadata cannot be understood, or whose end too few bookies give."""
ORPHAN = "orphan"
"""A ledger in an entry log, or on a bookie, that the metadata does not know."""
UNLISTED = "unlisted"
"""A bookie that was asked for orphans and has no answer: about one ledger, or about any."""

DAMAGE = (MISSING, CORRUPT, DIVERGENT, STORAGE_FAILED, UNREACHABLE, UNDER_REPLICATED, LOST, UNREADABLE)
"""The kinds that set the exit code; an orphan is, as a rule, garbage that is still to be collected."""

KINDS = (*DAMAGE, ORPHAN, UNLISTED)
"""All kinds, in the order in which they are shown."""

_PART = ["scope_id", "ledger_id", "first_entry", "last_entry", "stripe"]
_ENTRY = ["scope_id", "ledger_id", "entry_id"]


def suspicious_parts(parts: Any) -> Any:
    """Return the keys of the parts whose entries must be looked at one by one."""
    from pyspark.sql import functions as F

    some_failed = (F.col("storage_failed") > 0) & (F.col("storage_failed") < F.col("expected"))
    partly = ((F.col("present") > 0) & (F.col("verdict") != "ok")) | some_failed
    return (
        parts.where("bookie IS NOT NULL")
        .groupBy(*_PART, "stripes")
        .agg(F.count_distinct("sha256").alias("contents"), F.max(partly).alias("partly"))
        .where("contents > 1 OR partly")
        .select(*_PART, "stripes")
    )


def findings_of_parts(parts: Any, suspicious: Any) -> Any:
    """Return the findings about parts that need no closer look: each bookie has the whole part, or nothing."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    whole = Window.partitionBy(*_PART)
    good = F.count(F.when(F.col("verdict") == "ok", 1)).over(whole)
    judged = (
        parts.where("bookie IS NOT NULL")
        .join(suspicious.drop("stripes"), _PART, "left_anti")
        .withColumn("good_copies", good.cast("int"))
        .withColumn("wanted_copies", _wanted())
        .withColumn("entries", F.col("expected"))
        .withColumn("detail", F.col("error"))
    )
    bad = judged.withColumn(
        "kind",
        F.when((F.col("verdict") == "missing") & _counts(), MISSING)
        .when(F.col("verdict") == "storage-failed", STORAGE_FAILED)
        .when(F.col("verdict") == "unknown", UNREACHABLE),
    ).where("kind IS NOT NULL")
    return bad.select(*COLUMNS).unionByName(_too_few(judged, ["first_entry", "last_entry", "entries", "stripe"]))


def findings_of_entries(entries: Any, suspicious: Any) -> Any:
    """Return the findings about the entries of suspicious parts; consecutive entries with the same are one finding."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    part = F.broadcast(suspicious.withColumnRenamed("scope_id", "s").withColumnRenamed("ledger_id", "l"))
    inside = (
        (F.col("scope_id") == F.col("s"))
        & (F.col("ledger_id") == F.col("l"))
        & F.col("entry_id").between(F.col("first_entry"), F.col("last_entry"))
        & (F.pmod("entry_id", F.col("stripes").cast("bigint")) == F.col("stripe"))
    )
    good = F.coalesce(F.col("present") & F.col("digest_ok"), F.lit(False))
    content = F.when(good, F.concat_ws(":", "sha256", "payload_bytes", "length"))
    whole, alike = Window.partitionBy(*_ENTRY), Window.partitionBy(*_ENTRY, "content")
    judged = (
        entries.join(part, inside)
        .withColumn("content", content)
        .withColumn("copies", F.when(F.col("content").isNotNull(), F.count("content").over(alike)).otherwise(0))
        .withColumn("good_copies", F.max("copies").over(whole).cast("int"))
        .withColumn("leading", F.count(F.when(F.col("copies") == F.col("good_copies"), 1)).over(whole))
        .withColumn("wanted_copies", _wanted())
    )
    diverges = good & ((F.col("copies") < F.col("good_copies")) | (F.col("leading") > F.col("good_copies")))
    bad = judged.withColumn(
        "kind",
        F.when(F.col("storage_failed"), STORAGE_FAILED)
        .when(F.col("present").isNull(), UNREACHABLE)
        .when(~F.col("present") & _counts(), MISSING)
        .when(F.col("present") & ~F.col("digest_ok"), CORRUPT)
        .when(diverges, DIVERGENT),
    ).where("kind IS NOT NULL")
    detail = F.when(F.col("kind") == DIVERGENT, F.concat(F.lit("sha256 "), "sha256")).otherwise(F.col("error"))
    of_bookies = bad.withColumn("detail", detail)
    columns = ["kind", *_ENTRY, "stripe", "stripes", "bookie", "good_copies", "wanted_copies", "detail"]
    few = _too_few(judged.withColumn("entries", F.lit(1)), ["entry_id", "stripe", "stripes"])
    return _ranges(of_bookies.select(*columns).unionByName(few.select(*columns)))


def findings_of_ledgers(rows: Any) -> Any:
    """Return the ledgers that could not be read, from rows about parts or about entries."""
    from pyspark.sql import functions as F

    row = rows.where("bookie IS NULL").withColumn("kind", F.lit(UNREADABLE)).withColumn("detail", F.col("error"))
    return _completed(row)


def orphans(records: Any, ledgers: Any) -> Any:
    """Return the ledgers of entry log records that are not among ``ledgers``; the path says where they lie."""
    from pyspark.sql import functions as F

    held = (
        records.where("kind = 'entry'")
        .groupBy("scope_id", "ledger_id", F.regexp_extract("path", r"^(.*)/[^/]*$", 1).alias("directory"))
        .agg(
            F.min("entry_id").alias("first_entry"),
            F.max("entry_id").alias("last_entry"),
            F.count(F.lit(1)).alias("entries"),
            F.sum("size").alias("size"),
        )
    )
    gone = held.join(ledgers.select("scope_id", "ledger_id"), ["scope_id", "ledger_id"], "left_anti")
    text = F.concat(F.col("size").cast("string"), F.lit(" bytes in "), "directory")
    return _completed(gone.withColumn("kind", F.lit(ORPHAN)).withColumn("detail", text))


def orphans_on_bookies(rows: Any) -> Any:
    """Return the findings of bookies about ledgers without metadata, from rows of table ``orphans``."""
    from pyspark.sql import functions as F

    kind = F.when(F.col("error").isNull(), ORPHAN).otherwise(UNLISTED)
    # A bookie that cannot be asked has a row for each part of the ids.
    told = rows.groupBy("scope_id", "ledger_id", "bookie", "first_entry", "last_entry", "entries").agg(
        F.min("error").alias("error")
    )
    return _completed(told.withColumn("kind", kind).withColumn("detail", F.col("error")))


def _wanted() -> Any:
    """Return how many good copies there must be; fewer for an open ledger, whose last entries may be on their way."""
    from pyspark.sql import functions as F

    return F.when(F.col("closed"), F.col("write_quorum_size")).otherwise(F.col("ack_quorum_size"))


def _counts() -> Any:
    """Return whether a missing copy is a finding."""
    from pyspark.sql import functions as F

    return F.col("closed") | (F.col("good_copies") < F.col("wanted_copies"))


def _too_few(judged: Any, columns: list[str]) -> Any:
    """Return a row for each range or entry with fewer good copies than wanted."""
    from pyspark.sql import functions as F

    kept = ["scope_id", "ledger_id", *columns, "good_copies", "wanted_copies"]
    few = judged.where("good_copies < wanted_copies").select(*kept).distinct()
    kind = F.when(F.col("good_copies") == 0, LOST).otherwise(UNDER_REPLICATED)
    nothing = F.lit(None).cast("string")
    named = few.withColumn("kind", kind).withColumn("bookie", nothing).withColumn("detail", nothing)
    return named.select(*COLUMNS) if "first_entry" in columns else named


def _ranges(rows: Any) -> Any:
    """Join entries that follow each other in their stripe and have the same finding."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    same = ["kind", "scope_id", "ledger_id", "stripe", "stripes", "bookie", "good_copies", "wanted_copies"]
    order = Window.partitionBy(*same).orderBy("entry_id")
    place = F.expr("entry_id div stripes") - F.row_number().over(order)
    return (
        rows.withColumn("island", place)
        .groupBy(*same, "island")
        .agg(
            F.min("entry_id").alias("first_entry"),
            F.max("entry_id").alias("last_entry"),
            F.count(F.lit(1)).alias("entries"),
            F.min("detail").alias("detail"),
        )
        .select(*COLUMNS)
    )


def _completed(rows: Any) -> Any:
    """Return ``rows`` with all columns of findings; those that they do not have are null."""
    from pyspark.sql import functions as F

    types = {"first_entry": "bigint", "last_entry": "bigint", "entries": "bigint", "stripe": "int", "bookie": "string"}
    for name in COLUMNS:
        if name not in rows.columns:
            rows = rows.withColumn(name, F.lit(None).cast(types.get(name, "int")))
    return rows.select(*COLUMNS)
