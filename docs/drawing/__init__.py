"""Pictures of the whole, drawn from the code: ``python -m docs.drawing [--check]``."""
