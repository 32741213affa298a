"""``bktx wire``: what bytes of BookKeeper traffic say."""
