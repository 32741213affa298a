"""The declarations once more as Kaitai Struct (``.ksy``), from which parsers in other languages are generated."""
