"""Sources: download files from their mirrors; find, decompress and verify the members inside them."""
