"""Unix compress, written plainly from the format: what the tests unpack."""

CLEAR = 256


class _Codes:
    """Codes packed the lowest bits first; eight make a group, which is padded where their width changes."""

    def __init__(self, max_bits: int) -> None:
        self.out = bytearray([0x1F, 0x9D, 0x80 | max_bits])
        self.group: list[int] = []
        self.bits = 9

    def put(self, code: int) -> None:
        self.group.append(code)
        if len(self.group) == 8:
            self.end_group(pad=True)

    def end_group(self, *, pad: bool) -> None:
        value = sum(code << (at * self.bits) for at, code in enumerate(self.group))
        n_bytes = self.bits if pad else -(-len(self.group) * self.bits // 8)
        if self.group:
            self.out += value.to_bytes(n_bytes, "little")
        self.group.clear()

    def widen(self, bits: int) -> None:
        self.end_group(pad=True)
        self.bits = bits


def _literals() -> dict[bytes, int]:
    return {bytes([byte]): byte for byte in range(256)}


def compress(data: bytes, max_bits: int = 16, *, clear_every: int = 0) -> bytes:
    """``data`` as a .Z file in block mode; the table is emptied after every ``clear_every`` codes (0: never)."""
    codes = _Codes(max_bits)
    table = _literals()
    text = b""
    n_codes = 0
    for at in range(len(data)):
        byte = data[at : at + 1]
        if text + byte in table:
            text += byte
            continue
        codes.put(table[text])
        if len(table) + 1 < 1 << max_bits:
            table[text + byte] = len(table) + 1  # one more, for 256 is the code that clears
            if len(table) >= 1 << codes.bits and codes.bits < max_bits:
                codes.widen(codes.bits + 1)
        text = byte
        n_codes += 1
        if clear_every and n_codes % clear_every == 0:
            codes.put(table[text])
            codes.put(CLEAR)
            codes.widen(9)
            table = _literals()
            text = b""
    if text:
        codes.put(table[text])
    codes.end_group(pad=False)
    return bytes(codes.out)


def bomb(n_codes: int) -> bytes:
    """A run of one byte, as long as ``n_codes`` codes can make it: each stands for one byte more than the last."""
    codes = _Codes(16)
    for n in range(1, n_codes + 1):
        codes.put(ord("a") if n == 1 else CLEAR + n - 1)
        if CLEAR + n >= 1 << codes.bits and codes.bits < 16:
            codes.widen(codes.bits + 1)
    codes.end_group(pad=False)
    return bytes(codes.out)
