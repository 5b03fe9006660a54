"""Binary codes: packed in memory, their nearest neighbours, and files of saved codes in the formats that people use."""

from hashbench.scoring.codes.packed import MAX_BITS, Codes, binarize, block_items, magnitudes, pack, pack_words

__all__ = ["MAX_BITS", "Codes", "binarize", "block_items", "magnitudes", "pack", "pack_words"]
