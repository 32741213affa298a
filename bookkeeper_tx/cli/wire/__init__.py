"""``bktx wire``: decoding of BookKeeper traffic."""
