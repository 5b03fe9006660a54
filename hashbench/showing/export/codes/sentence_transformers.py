"""sentence-transformers: an array of its precision ubinary."""

from hashbench.showing.export.codes._target import Target
from hashbench.showing.export.codes.numpy import write

EXAMPLE = """
from sentence_transformers.util.quantization import semantic_search_faiss

codes = np.load("$file")
found, _ = semantic_search_faiss(packed, codes, corpus_precision="ubinary", top_k=$k, rescore=False)
ids = [[hit["corpus_id"] for hit in hits] for hits in found]
distances = [[hit["score"] for hit in hits] for hits in found]
"""

BEFORE = """
The precision `binary` is the same less 128: `(codes.astype(np.int16) - 128).astype(np.int8)`.
"""

TARGET = Target(
    file="ubinary.npy",
    about="an array `uint8[n, bytes]` as `quantize_embeddings` of precision `ubinary` makes it",
    write=write,
    needs="numpy 'sentence-transformers>=6' faiss-cpu",
    example=EXAMPLE,
    before=BEFORE,
)
