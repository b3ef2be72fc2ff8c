"""Draws a bar chart of the months as PNG bytes, without an imaging library."""

import struct
import zlib
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

BAR, GAP, UNIT, MARGIN = 22, 10, 4, 16
"""Sizes in pixels: the width of a bar, the gap between bars, the height of one degree, and the margin of the chart."""

PAPER: Final = (0, 0, 0, 0)
"""The background color. It is transparent, so that the chart fits a light or a dark page."""

AXIS: Final = (128, 132, 140, 255)
COLD: Final = (74, 126, 196, 255)
WARM: Final = (222, 118, 62, 255)

MONTHS: Final = "JFMAMJJASOND"

LETTERS: Final = {
    "A": "01110 10001 10001 11111 10001 10001 10001",
    "D": "11110 10001 10001 10001 10001 10001 11110",
    "F": "11111 10000 10000 11110 10000 10000 10000",
    "J": "00111 00010 00010 00010 00010 10010 01100",
    "M": "10001 11011 10101 10101 10001 10001 10001",
    "N": "10001 11001 10101 10011 10001 10001 10001",
    "O": "01110 10001 10001 10001 10001 10001 01110",
    "S": "01111 10000 10000 01110 00001 00001 11110",
}
"""Letter -> rows of dots, from top to bottom."""

DOT, LETTER_SPACE = 2, 22
"""Sizes in pixels: the side of a dot in a letter, and the height of the row of letters."""

Colour = tuple[int, int, int, int]


def bar_chart(values: Sequence[int]) -> bytes:
    """Return a PNG with a bar for each value. The color goes from blue (lowest value) to orange (highest value)."""
    top, bottom = max(*values, 0), min(*values, 0)
    width = 2 * MARGIN + len(values) * (BAR + GAP) - GAP
    height = 2 * MARGIN + (top - bottom) * UNIT + 1 + LETTER_SPACE
    zero = MARGIN + top * UNIT
    rows = [[PAPER] * width for _ in range(height)]
    lefts = accumulate([BAR + GAP] * (len(values) - 1), initial=MARGIN)
    for month, left, value in zip(MONTHS, lefts, values, strict=True):
        first, last = sorted((zero - value * UNIT, zero))
        for row in rows[first:last]:
            row[left : left + BAR] = [_shade(value, min(values), max(values))] * BAR
        _write(month, rows, left + BAR // 2)
    rows[zero] = [PAPER] * MARGIN + [AXIS] * (width - 2 * MARGIN) + [PAPER] * MARGIN
    return _png(rows)


def _write(letter: str, rows: Sequence[list[Colour]], middle: int) -> None:
    lines = LETTERS[letter].split()
    left, top = middle - len(lines[0]) * DOT // 2, len(rows) - MARGIN // 2 - len(lines) * DOT
    for down, line in enumerate(lines):
        for across, dot in enumerate(line):
            if dot == "1":
                for row in rows[top + down * DOT : top + (down + 1) * DOT]:
                    row[left + across * DOT : left + (across + 1) * DOT] = [AXIS] * DOT


def _shade(value: int, low: int, high: int) -> Colour:
    share = (value - low) / ((high - low) or 1)
    red, green, blue, alpha = (round(cold + (warm - cold) * share) for cold, warm in zip(COLD, WARM, strict=True))
    return red, green, blue, alpha


def _png(rows: Sequence[Sequence[Colour]]) -> bytes:
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 6, 0, 0, 0)
    lines = b"".join(b"\0" + bytes(value for pixel in row for value in pixel) for row in rows)
    blocks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_block(kind, data) for kind, data in blocks)


def _block(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
