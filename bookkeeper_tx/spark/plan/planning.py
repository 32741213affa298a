"""In which of Spark's processes we are."""

import sys

PUSHDOWN_PLANNER = "pyspark.sql.worker.data_source_pushdown_filters"


def filters_can_be_pushed() -> bool:
    """Return whether Spark is asking which filters the source takes.

    It does so in a process of its own, and only if ``spark.sql.python.filterPushdown.enabled`` is true.  If it is
    false, a reader that takes filters fails every query, so it must not be shown then.  The planner cannot ask the
    session for the setting; but it can tell in which process it is: the one that pushes filters has loaded this module.

    Even then filters are for ``pushdown=true`` only.  Up to Spark 4.3 what was planned for the filters of one query is
    kept at the DataFrame that was loaded, and any other query of that DataFrame, and the other side of a union or a
    join with itself, reads just that: rows go missing in silence.
    """
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    return PUSHDOWN_PLANNER in sys.modules or getattr(main, "name", None) == PUSHDOWN_PLANNER
