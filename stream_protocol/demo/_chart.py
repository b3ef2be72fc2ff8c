"""Draws a bar chart of twelve monthly temperatures as PNG bytes, without an imaging library."""

import struct
import zlib
from base64 import b64decode
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

BAR, GAP, UNIT, MARGIN = 22, 10, 4, 16
"""Sizes in pixels: the width of a bar, the gap between bars, the height of one degree, and the chart's margin."""

PAPER: Final = (0, 0, 0, 0)
"""The background color: transparent, for light and dark pages."""

AXIS: Final = (128, 132, 140, 255)
COLD: Final = (74, 126, 196, 255)
WARM: Final = (222, 118, 62, 255)

MONTHS: Final = "JFMAMJJASOND"

LETTERS: Final = "JFMASOND"

MASKS: Final = (
    "eNpjYKAFCPkfMaT40f+DUfiV/82ReEz6928zI/Hvf9yqxkBDEPIfDM5Qz7dg4EKv0BxYAPRtNJix9v9/CP/LbhAt/PMLlL/oryyQzvuyBsoPfl"
    "cNpM/PXwDl+0y9xcBg8N8ezjf9b80w8S4jnM9wZTbb61oGBL/0Y+w/eSS+xJ93exiQ+Axb/seg8MEAO38wgPD/bzmQ+buf/I9C4ir+Szm6H4nf"
    "+p4r+p8KnMv8dAID26sOON/vvzoDQ/sLFhh/MzBsGOT/BkK5Un8g6XMblF/zGEw5gGOJgYHx3mwwzfqxHky7wvLquodMIGrVH34IP/W/5yAJPt"
    "O1D7/fWmwL43r/2aDLqbP8vwSUf+gjG4gqEIPyr9xF1T7jfyojMl9w1/9X62tNkUQ0Mqfd+r+NB0VX2f9eFD7jt1NQVjtYoci/XTD7HiSIcFsc"
    "+uMB5SvUnnjz++laq8GS+jTmPvj5bk8ELAyCvm82Ypcq+7EcUgarf9vCBEmjtWD+nP+aEHUnP3KBqCf3oPrq/zuDEuM/WEpN+J8EJFng/MT/iV"
    "jUM8z7rwE17xPYPI3vMPsg6Y8h9AfQPZKlP1bB6gSt+Q9/vd8XxThoCsB/xiB6yn8eWIG4D5W/7b8XCj/gxmVmZL5P4P9kFD7DkadcKHzL/zUo"
    "fIY1n0RR+Kq/pqDwGSb/3onCF/34H4XPUAXjD3z98f/X62Ptyki1G7OYz/6fGSi1HeOKf/YotZ/M362oteHlL6j87f/5UPg7/vOi8K98QjNvM6"
    "p9f23gfCZRn30/UpHc++Y43L2kAQCHKWGV"
)
"""Anti-aliased masks of ``LETTERS`` in their order, one byte per pixel, compressed. Drawn once in DejaVu Sans."""

LETTER_WIDTH, LETTER_HEIGHT, DESCENT, LETTER_SPACE = 16, 20, 3, 22
"""Sizes in pixels: width and height of a mask, its part below the baseline, and the height of the row of letters."""

Colour = tuple[int, int, int, int]


def bar_chart(values: Sequence[int]) -> bytes:
    """Return a PNG with a bar for each month. The lowest value is blue, the highest orange."""
    top, bottom = max(*values, 0), min(*values, 0)
    width = 2 * MARGIN + len(values) * (BAR + GAP) - GAP
    height = 2 * MARGIN + (top - bottom) * UNIT + 1 + LETTER_SPACE
    zero = MARGIN + top * UNIT
    rows = [[PAPER] * width for _ in range(height)]
    masks = zlib.decompress(b64decode(MASKS))
    lefts = accumulate([BAR + GAP] * (len(values) - 1), initial=MARGIN)
    for month, left, value in zip(MONTHS, lefts, values, strict=True):
        first, last = sorted((zero - value * UNIT, zero))
        for row in rows[first:last]:
            row[left : left + BAR] = [_shade(value, min(values), max(values))] * BAR
        _write(month, masks, rows, left + BAR // 2)
    rows[zero] = [PAPER] * MARGIN + [AXIS] * (width - 2 * MARGIN) + [PAPER] * MARGIN
    return _png(rows)


def _write(letter: str, masks: bytes, rows: Sequence[list[Colour]], middle: int) -> None:
    size = LETTER_WIDTH * LETTER_HEIGHT
    mask = masks[LETTERS.index(letter) * size :][:size]
    left, top = middle - LETTER_WIDTH // 2, len(rows) - MARGIN // 2 + DESCENT - LETTER_HEIGHT
    for down in range(LETTER_HEIGHT):
        line = mask[down * LETTER_WIDTH :][:LETTER_WIDTH]
        rows[top + down][left : left + LETTER_WIDTH] = [(*AXIS[:3], alpha) if alpha else PAPER for alpha in line]


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
