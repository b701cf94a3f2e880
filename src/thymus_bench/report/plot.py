"""The trade-off as PNG and SVG, drawn by matplotlib, which only this module needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from thymus.errors import MissingExtraError
from thymus_bench.report.chart import HEIGHT, WIDTH, Label, Mark, Panel, Role, panels
from thymus_bench.report.runs import ReportError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS: Final = {Role.NEWEST: "#0072B2", Role.EARLIER: "#D55E00", Role.OTHER: "#5F6368"}
"""Blue and vermilion of Okabe and Ito's palette, told apart by every kind of colour vision, and grey."""
SHAPES: Final = {Role.NEWEST: "o", Role.EARLIER: "s", Role.OTHER: "D"}
_DPI: Final = 100


def draw(summary: Mapping[str, Any], folder: Path, *, name: str = "trade-off") -> list[Path]:
    """Write ``trade-off.png`` and ``trade-off.svg``.

    :raises MissingExtraError: where matplotlib is not installed.
    :raises ReportError: where there is nothing to draw, or the folder cannot be written.
    """
    shown = panels(summary)
    if not shown:
        raise ReportError("nothing to draw: the trade-off needs plays of attacks and of updates under one gate")
    try:
        import matplotlib as mpl
    except ImportError:
        raise MissingExtraError(
            'pictures need matplotlib: pip install "thymus-memory[eval]", or use --html, which needs nothing more'
        ) from None
    mpl.use("agg")
    # a fixed salt and no date: the same summary gives the same file
    with mpl.rc_context(
        {"svg.hashsalt": "thymus", "svg.fonttype": "none", "font.size": 11, "font.family": "DejaVu Sans"}
    ):
        return _draw(shown, folder, name)


def _draw(shown: Sequence[Panel], folder: Path, name: str) -> list[Path]:
    from matplotlib.figure import Figure

    across, down, left, under, over = WIDTH / _DPI, HEIGHT / _DPI, 0.85, 0.75, 0.95
    wide, high = left + across + 0.25, len(shown) * (down + under + over)
    figure = Figure(figsize=(wide, high), dpi=_DPI, facecolor="white")
    for place, panel in enumerate(shown):
        base = high - (place + 1) * (down + under + over) + under
        axes = figure.add_axes((left / wide, base / high, across / wide, down / high))
        _draw_panel(axes, panel)
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(paths[0], dpi=2 * _DPI, metadata={"Software": None})
        figure.savefig(paths[1], metadata={"Date": None})
    except OSError as error:
        raise ReportError(f"{folder}: cannot be written ({error.strerror}): name another folder with --out") from None
    return paths


def _draw_panel(axes: Axes, panel: Panel) -> None:
    axes.set_xlim(-0.02, panel.right)
    axes.set_ylim(panel.bottom, 1.02)
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.grid(color="#E4E7EB", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#9AA0A6")
    axes.tick_params(colors="#3C4043", length=0, pad=6)
    axes.set_xlabel("attack success  (better: left)", color="#202124", labelpad=8)
    axes.set_ylabel("update accuracy  (better: up)", color="#202124", labelpad=8)
    axes.text(0, 1.105, "What gets through", transform=axes.transAxes, fontsize=14, fontweight="bold", color="#202124")
    axes.text(0, 1.045, _subtitle(panel), transform=axes.transAxes, fontsize=10, color="#5F6368")
    for mark, label in zip(panel.marks, panel.labels, strict=True):
        _draw_mark(axes, mark)
        _draw_label(axes, mark, label)


def _subtitle(panel: Panel) -> str:
    told = "   hollow: the notice counted too" if any(mark.told is not None for mark in panel.marks) else ""
    return f"{panel.title}   filled: in the reply, with 95% Wilson intervals{told}"


def _draw_mark(axes: Axes, mark: Mark) -> None:
    colour = COLOURS[mark.role]
    axes.plot([mark.x_low, mark.x_high], [mark.y, mark.y], color=colour, alpha=0.35, linewidth=1.4, zorder=2)
    axes.plot([mark.x, mark.x], [mark.y_low, mark.y_high], color=colour, alpha=0.35, linewidth=1.4, zorder=2)
    if mark.told is not None:
        axes.plot([mark.x, mark.x], [mark.y, mark.told], color=colour, linewidth=1.2, linestyle=(0, (1, 2)), zorder=3)
        axes.plot(
            [mark.x], [mark.told], SHAPES[mark.role], markersize=8, markerfacecolor="white", markeredgecolor=colour,
            markeredgewidth=1.6, zorder=4, clip_on=False,
        )  # fmt: skip
    axes.plot(
        [mark.x], [mark.y], SHAPES[mark.role], markersize=9, markerfacecolor=colour, markeredgecolor="white",
        markeredgewidth=1.2, zorder=5, clip_on=False,
    )  # fmt: skip


def _draw_label(axes: Axes, mark: Mark, label: Label) -> None:
    at = label.anchor
    axes.annotate(
        mark.label,
        xy=(mark.x, mark.y),
        xytext=(at[0] / WIDTH, at[1] / HEIGHT),
        textcoords="axes fraction",
        ha="center",
        va="center",
        fontsize=10.5,
        fontweight="bold" if mark.role is Role.NEWEST else "normal",
        color=COLOURS[mark.role],
        zorder=6,
        parse_math=False,  # a gate's name is data: dollar signs stay what they are
        arrowprops={"arrowstyle": "-", "color": COLOURS[mark.role], "alpha": 0.6, "linewidth": 0.8, "shrinkB": 6}
        if label.led
        else None,
        bbox={"boxstyle": "square,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
    )
