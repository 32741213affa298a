"""``python -m compat_tests``."""

from compat_tests.cli.main import main

main()
