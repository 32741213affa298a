"""How Sphinx builds these pages: ``tox -e docs``, into ``build/docs``.  Nothing is fetched, not by a reader either."""

import sys
from pathlib import Path

from pygments.lexer import RegexLexer
from pygments.token import Comment, Number, Text
from sphinx.application import Sphinx
from twisted.internet.defer import Deferred

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_extensions")]  # the docstrings are those of this checkout

project = "bookkeeper_tx"
author = "the bookkeeper_tx authors"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "docstrings",
]  # myst_nb is myst_parser with notebooks
nb_execution_mode = "off"  # tests/integration/published/test_notebook.py executes them
nb_ipywidgets_js = {}  # by default they come from elsewhere, and there are none
exclude_patterns = ["diagrams/*.flow", "_extra", "_extensions", "drawing/*.py"]
html_extra_path = ["_extra"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
maximum_signature_line_length = 88
add_module_names = False
toc_object_entries_show_parents = "hide"
# Types of others: written down here, since nothing is fetched.  A name that is missing fails the build.
intersphinx_mapping = {
    "python": ("https://docs.python.org/3", "_inventories/python.inv"),
    "twisted": ("https://docs.twisted.org/en/stable/api", "_inventories/twisted.inv"),
}
nitpick_ignore = [
    ("py:class", "compat_tests.judge.attempt.T"),  # type variables
    ("py:class", "bookkeeper_tx.driver.T"),
    ("py:class", "bookkeeper_tx.client.core.Client"),  # BookKeeper, of any world
    ("py:class", "concurrent.futures._base.Future"),  # Python tells where it is defined, not where it is documented
    ("py:class", "_pytest.tmpdir.TempPathFactory"),
]

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
    """Make the language of the examples known, and the name that the stores import for type checkers only."""
    from bookkeeper_tx.metadata import interfaces  # of this checkout

    app.add_lexer("hex", HexLexer)
    interfaces.Deferred = Deferred  # type: ignore[attr-defined]
