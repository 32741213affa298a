"""The declarations as Kaitai Struct (``.ksy``), from which parsers in other languages can be generated."""
