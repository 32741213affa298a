"""The options of the formats: declared, parsed, and the settings that follow from them."""
