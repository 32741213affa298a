"""``python -m protocol_specs check``: whether specs, codecs, vectors, ``.ksy`` files and documentation agree."""

import sys

from protocol_specs import check

USAGE = "usage: python -m protocol_specs check"

if __name__ == "__main__":
    if sys.argv[1:] != ["check"]:
        print(USAGE, file=sys.stderr)
        sys.exit(2)
    sys.exit(check.main())
