"""How Sphinx builds these pages: ``tox -e docs``, into ``build/docs``.  Nothing is fetched, not by a reader either."""

from pygments.lexer import RegexLexer
from pygments.token import Comment, Number, Text
from sphinx.application import Sphinx

project = "bookkeeper_tx"
author = "the bookkeeper_tx authors"

extensions = ["myst_nb"]  # myst_parser with notebooks
nb_execution_mode = "off"  # tests/integration/published/test_notebook.py executes them
nb_ipywidgets_js = {}  # by default they come from elsewhere, and there are none
exclude_patterns = ["diagrams/*.flow", "_extra"]
html_extra_path = ["_extra"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = "bookkeeper_tx"
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["reference.css"]


class HexLexer(RegexLexer):
    """Bytes in hexadecimal; from ``#`` to the end of the line is a comment."""

    name = "hex"
    tokens = {"root": [(r"#.*", Comment), (r"[0-9a-f]+", Number.Hex), (r"\s+", Text), (r".", Text)]}


def setup(app: Sphinx) -> None:
    """Make the language of the examples known."""
    app.add_lexer("hex", HexLexer)
