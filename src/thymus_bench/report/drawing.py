"""The chart as SVG inside a page: colours come from the page's style, so that it follows light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from thymus_bench.report.chart import HEIGHT, WIDTH, Label, Mark, Panel
from thymus_bench.report.render import escape_html

_LEFT, _RIGHT, _UNDER, _OVER = 70.0, 15.0, 60.0, 15.0
_STEPS: Final = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def svg(panel: Panel) -> str:
    """One panel; what it shows is also said in words, for those who do not see it."""
    wide, high = _LEFT + WIDTH + _RIGHT, _OVER + HEIGHT + _UNDER
    said = "; ".join(f"{mark.label}: attack success {mark.x:.0%}, update accuracy {mark.y:.0%}" for mark in panel.marks)
    marks = "\n".join(_mark(panel, mark) for mark in panel.marks)
    names = "\n".join(_name(panel, mark, label) for mark, label in zip(panel.marks, panel.labels, strict=True))
    return (
        f'<svg viewBox="0 0 {wide:.0f} {high:.0f}" role="img" aria-label="{escape_html(said)}">\n'
        f"{''.join(_axes(panel))}{marks}\n{names}\n</svg>"
    )


def _page(panel: Panel, x: float, y: float) -> tuple[float, float]:
    """In pixels from the upper left corner of the drawing."""
    across, up = panel.at(x, y)
    return _LEFT + across, _OVER + HEIGHT - up


def _axes(panel: Panel) -> Iterator[str]:
    line = '<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="var(--line)"/>'
    bottom, right = _OVER + HEIGHT, _LEFT + WIDTH
    for step in _STEPS:
        x, y = _page(panel, step, step)
        if step <= panel.right:
            yield line.format(x, _OVER, x, bottom)
            yield f'<text class=axis x="{x:.1f}" y="{bottom + 20:.1f}" text-anchor="middle">{step:.0%}</text>'
        if step >= panel.bottom:
            yield line.format(_LEFT, y, right, y)
            yield f'<text class=axis x="{_LEFT - 8:.1f}" y="{y + 5:.1f}" text-anchor="end">{step:.0%}</text>'
    centre, middle = _LEFT + WIDTH / 2, _OVER + HEIGHT / 2
    yield f'<text x="{centre:.1f}" y="{bottom + 46:.1f}" text-anchor="middle">← better: attack success</text>'
    yield (
        f'<text x="16" y="{middle:.1f}" text-anchor="middle" transform="rotate(-90 16 {middle:.1f})">'
        "update accuracy: better →</text>\n"
    )


def _mark(panel: Panel, mark: Mark) -> str:
    x, y = _page(panel, mark.x, mark.y)
    left, low = _page(panel, mark.x_low, mark.y_low)
    right, high = _page(panel, mark.x_high, mark.y_high)
    told = ""
    if mark.told is not None:
        _, above = _page(panel, mark.x, mark.told)
        told = (
            f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x:.1f}" y2="{above:.1f}" stroke="var(--c)" stroke-dasharray="2 3"/>'
            f'<circle cx="{x:.1f}" cy="{above:.1f}" r="5" fill="var(--ground)" stroke="var(--c)" stroke-width="1.8"/>'
        )
    return (
        f'<g class="{mark.role}"><path d="M{left:.1f} {y:.1f}H{right:.1f}M{x:.1f} {low:.1f}V{high:.1f}" '
        f'stroke="var(--c)" stroke-opacity=".4" stroke-width="1.5"/>{told}'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="var(--c)" stroke="var(--ground)" stroke-width="1.5"/></g>'
    )


def _name(panel: Panel, mark: Mark, label: Label) -> str:
    x, y = _page(panel, mark.x, mark.y)
    across, up = label.anchor
    at_x, at_y = _LEFT + across, _OVER + HEIGHT - up
    line = (
        f'<path d="M{x:.1f} {y:.1f}L{at_x:.1f} {at_y:.1f}" stroke="var(--c)" stroke-opacity=".5"/>' if label.led else ""
    )
    return (
        f'<g class="{mark.role}">{line}<text class=halo x="{at_x:.1f}" y="{at_y + 5:.1f}" text-anchor="middle">'
        f"{escape_html(mark.label)}</text></g>"
    )
