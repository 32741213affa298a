"""Which of Spark's processes this code runs in."""

import sys

PUSHDOWN_PLANNER = "pyspark.sql.worker.data_source_pushdown_filters"


def filters_can_be_pushed() -> bool:
    """Return whether Spark is asking which filters the source takes.

    Spark does so in a process of its own, and only if ``spark.sql.python.filterPushdown.enabled`` is true.  If it is
    false, a reader that takes filters fails every query, so Spark must not see one then.  The planner cannot ask the
    session for the setting, but it can find out its process: the one that pushes filters has loaded
    :data:`PUSHDOWN_PLANNER`.

    Even then filters are for ``pushdown=true`` only.  Up to Spark 4.3 a DataFrame that was loaded keeps the plan for
    the filters of one query, and every other query of that DataFrame, and the other side of a union or a join with
    itself, reads by that plan: rows go missing in silence.
    """
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    return PUSHDOWN_PLANNER in sys.modules or getattr(main, "name", None) == PUSHDOWN_PLANNER
