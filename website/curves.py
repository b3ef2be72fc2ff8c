"""Draws curves over time as an SVG: panels below each other, with a common time axis."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10
from typing import Final

WIDTH: Final = 920
LEFT, RIGHT = 70, 20
TOP, PANEL, GAP, BOTTOM = 40, 110, 44, 36
COLORS: Final = ("#4456c7", "#c05621")
INK, PALE, LINES = "#18213a", "#55607a", "#c5cbdb"
FONT: Final = 'font-family="system-ui, -apple-system, Segoe UI, Roboto, sans-serif" font-size="13"'
TICKS: Final = 3
"""Marks above zero on a panel's axis: this number, or one more."""


@dataclass(frozen=True)
class Curve:
    """Curve of a panel. ``values``: a value for each time; ``None`` is a gap."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True)
class Panel:
    """Panel with curves of one quantity. ``title``: the quantity and its unit."""

    title: str
    curves: Sequence[Curve]


def picture(title: str, minutes: Sequence[float], panels: Sequence[Panel], marks: Sequence[float]) -> str:
    """Return the SVG. ``minutes``: the times. ``marks``: times of vertical lines through all panels."""
    height = TOP + len(panels) * (PANEL + GAP) - GAP + BOTTOM
    span = max(minutes)
    svg = f'svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
    lines = [
        f'<{svg} role="img" aria-labelledby="t" {FONT}>',
        f'  <title id="t">{escape(title)}</title>',
        f'  <rect x="1" y="1" width="{WIDTH - 2}" height="{height - 2}" rx="14" fill="#ffffff" stroke="{LINES}"/>',
    ]
    for number, panel in enumerate(panels):
        top = TOP + number * (PANEL + GAP)
        lines += [f"  {line}" for line in _panel(panel, top, minutes, span)]
    bottom = height - BOTTOM
    for mark in marks:
        x = _x(mark, span)
        lines.append(f'  <path d="M{x} {TOP}V{bottom}" stroke="{PALE}" stroke-dasharray="2 4" fill="none"/>')
    for tick in _ticks(span, 10):
        lines.append(
            f'  <text x="{_x(tick, span)}" y="{bottom + 20}" fill="{PALE}" text-anchor="middle">{tick:g} min</text>'
        )
    return "\n".join([*lines, "</svg>", ""])


def _panel(panel: Panel, top: float, minutes: Sequence[float], span: float) -> Iterator[str]:
    known = [value for curve in panel.curves for value in curve.values if value is not None]
    ticks = [*_ticks(max(known), TICKS)]
    highest = max(*known, ticks[-1]) or 1
    yield f'<text x="{LEFT}" y="{top - 10}" fill="{INK}" font-weight="600">{escape(panel.title)}</text>'
    for tick in ticks:
        y = _y(tick, top, highest)
        yield f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="{LINES}" fill="none"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4}" fill="{PALE}" text-anchor="end">{tick:,g}</text>'
    for number, (curve, color) in enumerate(zip(panel.curves, COLORS, strict=False)):
        path = "".join(_path(curve.values, minutes, span, top, highest))
        yield f'<path d="{path}" stroke="{color}" stroke-width="1.3" stroke-linejoin="round" fill="none"/>'
        if len(panel.curves) > 1:
            x = WIDTH - RIGHT - 190 * (len(panel.curves) - 1 - number)
            yield f'<text x="{x}" y="{top - 10}" fill="{color}" text-anchor="end">{escape(curve.name)}</text>'


def _path(
    values: Sequence[float | None], minutes: Sequence[float], span: float, top: float, highest: float
) -> Iterator[str]:
    pen = "M"
    for minute, value in zip(minutes, values, strict=True):
        if value is None:
            pen = "M"
        else:
            yield f"{pen}{_x(minute, span)} {_y(value, top, highest)}"
            pen = "L"


def _ticks(highest: float, about: int) -> Iterator[float]:
    """Yield about ``about`` round numbers from 0 to ``highest``."""
    raw = (highest or 1) / about
    power = 10 ** floor(log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
    number = 0
    while number * step <= highest:
        yield number * step
        number += 1


def _x(minute: float, span: float) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * minute / span, 1)


def _y(value: float, top: float, highest: float) -> float:
    return round(top + PANEL * (1 - value / highest), 1)
