"""Binary codes: packed in memory, their nearest neighbours, and everybody's files of saved codes."""

from hashbench.codes.packed import MAX_BITS, Codes, binarize, block_items, pack, pack_words

__all__ = ["MAX_BITS", "Codes", "binarize", "block_items", "pack", "pack_words"]
