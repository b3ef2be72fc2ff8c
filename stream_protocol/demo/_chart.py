"""Draws a bar chart as PNG bytes, without an imaging library."""

import struct
import zlib
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

BAR, GAP, UNIT, MARGIN = 22, 10, 4, 16
"""Pixels: width of a bar, space between bars, height of one degree, margin of the chart."""

PAPER: Final = (250, 250, 247)
AXIS: Final = (60, 64, 72)
COLD: Final = (74, 126, 196)
WARM: Final = (222, 118, 62)

Colour = tuple[int, int, int]


def bar_chart(values: Sequence[int]) -> bytes:
    """Return a PNG with a bar for each value, blue (lowest) to orange (highest), above or below a zero line."""
    top, bottom = max(*values, 0), min(*values, 0)
    width = 2 * MARGIN + len(values) * (BAR + GAP) - GAP
    height = 2 * MARGIN + (top - bottom) * UNIT + 1
    zero = MARGIN + top * UNIT
    rows = [[PAPER] * width for _ in range(height)]
    lefts = accumulate([BAR + GAP] * (len(values) - 1), initial=MARGIN)
    for left, value in zip(lefts, values, strict=True):
        first, last = sorted((zero - value * UNIT, zero))
        for row in rows[first:last]:
            row[left : left + BAR] = [_shade(value, min(values), max(values))] * BAR
    rows[zero] = [PAPER] * MARGIN + [AXIS] * (width - 2 * MARGIN) + [PAPER] * MARGIN
    return _png(rows)


def _shade(value: int, low: int, high: int) -> Colour:
    share = (value - low) / ((high - low) or 1)
    red, green, blue = (round(cold + (warm - cold) * share) for cold, warm in zip(COLD, WARM, strict=True))
    return red, green, blue


def _png(rows: Sequence[Sequence[Colour]]) -> bytes:
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 2, 0, 0, 0)
    lines = b"".join(b"\0" + bytes(value for pixel in row for value in pixel) for row in rows)
    blocks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_block(kind, data) for kind, data in blocks)


def _block(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
