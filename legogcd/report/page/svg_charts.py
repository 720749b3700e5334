"""Curves by epoch as drawings inside the page; colors come from its style sheet, so they follow light and dark."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

WIDTH, HEIGHT = 640, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 96, 12, 32
SCORES = {"all": "All", "old": "Known", "new": "New"}
Values = Sequence[float | None]


def score_chart(metrics: Sequence[Mapping[str, Any]]) -> Markup | None:
    """Accuracy on unlabelled images by epoch, where somebody knew the truth."""
    lines = {key: [None if entry.get(key) is None else 100 * float(entry[key]) for entry in metrics] for key in SCORES}
    lines = {key: values for key, values in lines.items() if any(value is not None for value in values)}
    if not lines:
        return None
    last = ", ".join(f"{SCORES[key]} {_last(values):.1f} %" for key, values in lines.items())
    return _chart(lines, [int(entry["epoch"]) for entry in metrics], f"Accuracy by epoch. At the end: {last}")


def term_charts(metrics: Sequence[Mapping[str, Any]]) -> list[tuple[str, float, float, Markup]]:
    """The loss and each of its terms: name, first value, last value, a small drawing."""
    trained = [entry for entry in metrics if entry.get("loss") is not None]
    if not trained:
        return []
    series = {"loss": [float(entry["loss"]) for entry in trained]}
    for name in trained[0].get("terms", {}):
        series[name] = [float(entry["terms"][name]) for entry in trained if name in entry["terms"]]
    return [(name.replace("_", " "), values[0], values[-1], _spark(values)) for name, values in series.items()]


def _last(values: Values) -> float:
    return next(value for value in reversed(values) if value is not None)


def _chart(lines: Mapping[str, Values], epochs: Sequence[int], label: str) -> Markup:
    numbers = [value for values in lines.values() for value in values if value is not None]
    low, high = 10 * (min(numbers) // 10), min(100.0, 10 * -(-max(numbers) // 10))
    high = max(high, low + 10)

    def x(place: int) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (place / max(len(epochs) - 1, 1))

    def y(value: float) -> float:
        return _TOP + (HEIGHT - _TOP - _BOTTOM) * (1 - (value - low) / (high - low))

    parts = [Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(WIDTH, HEIGHT, label)]
    step = 10 if high - low <= 50 else 20
    for tick in range(int(low), int(high) + 1, step):
        parts.append(
            Markup('<line class="grid" x1="{}" x2="{}" y1="{y:.1f}" y2="{y:.1f}"/>').format(
                _LEFT, WIDTH - _RIGHT, y=y(tick)
            )
            + Markup('<text x="{}" y="{:.1f}" text-anchor="end">{} %</text>').format(_LEFT - 6, y(tick) + 4, tick)
        )
    for place in sorted({0, (len(epochs) - 1) // 2, len(epochs) - 1}):
        parts.append(
            Markup('<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(
                x(place), HEIGHT - 12, epochs[place]
            )
        )
    parts.append(Markup('<text x="{}" y="{}">epoch</text>').format(WIDTH - _RIGHT + 24, HEIGHT - 12))
    heights = _apart({key: y(_last(values)) for key, values in lines.items()})
    for key, values in lines.items():
        points = [(x(place), y(value)) for place, value in enumerate(values) if value is not None]
        parts.append(_line(f"line {key}", points))
        parts.append(
            Markup('<text class="{}" x="{}" y="{:.1f}">{} {:.1f}</text>').format(
                key, WIDTH - _RIGHT + 8, heights[key] + 4, SCORES[key], _last(values)
            )
        )
    return Markup("").join([*parts, Markup("</svg>")])


def _apart(heights: Mapping[str, float], least: float = 15) -> dict[str, float]:
    """Labels moved down where they would overlap."""
    placed: dict[str, float] = {}
    lowest = -least
    for key in sorted(heights, key=heights.__getitem__):
        placed[key] = lowest = max(heights[key], lowest + least)
    return placed


def _line(classes: str, points: Sequence[tuple[float, float]]) -> Markup:
    if len(points) == 1:
        return Markup('<circle class="{} dot" cx="{:.1f}" cy="{:.1f}" r="4"/>').format(classes, *points[0])
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return Markup('<polyline class="{}" points="{}"/>').format(classes, path)


def _spark(values: Sequence[float]) -> Markup:
    low, span = min(values), max(max(values) - min(values), 1e-12)
    points = [
        (2 + 116 * place / max(len(values) - 1, 1), 34 - 28 * (value - low) / span)
        for place, value in enumerate(values)
    ]
    return Markup('<svg class="spark" viewBox="0 0 120 40" aria-hidden="true">{}</svg>').format(_line("line", points))
