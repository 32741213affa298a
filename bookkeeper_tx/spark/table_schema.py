"""The columns of a table, declared once for Arrow; and the columns that a query with a schema of its own asks for."""

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from bookkeeper_tx.errors import InvalidConfig

TIME = pa.timestamp("us", tz="UTC")
"""The Arrow type that Spark reads as TIMESTAMP."""


def spark_schema(columns: pa.Schema) -> StructType:
    """Return the columns as a StructType."""
    return from_arrow_schema(columns)


def wanted_columns(columns: pa.Schema, requested: StructType) -> list[str]:
    """Return the names of the columns that rows must have, in order.

    ``requested`` is the StructType that Spark hands to a reader: the table's own, or that of ``.schema(...)``, by
    which a query can ask for fewer columns.  Raises InvalidConfig for columns that the table does not have.
    """
    asked = to_arrow_schema(requested, timezone="UTC")
    for each in asked:
        if each.name not in columns.names:
            raise InvalidConfig(f"the schema asks for column {each.name}: this table has {', '.join(columns.names)}")
        declared = columns.field(each.name).type
        if each.type != declared:
            raise InvalidConfig(f"the schema asks for column {each.name} as {each.type}: it is {declared}")
    return list(asked.names)
