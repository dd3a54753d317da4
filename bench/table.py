"""The printed table: one row per figure, with a peer's figure from the same run."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """Roost's figure, a peer's figure and the target."""

    work: str
    unit: str
    ours: float
    peer: str
    theirs: float | None = None
    target: str = ""
    met: bool | None = None

    @property
    def ratio(self):
        return self.ours / self.theirs if self.theirs else None


def figure(value):
    """Returns the number with three significant digits."""
    if value is None:
        return ""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def markdown(rows):
    lines = [
        "| benchmark | unit | Roost | peer | peer's figure | ratio | target | met |",
        "| --- | --- | ---: | --- | ---: | ---: | --- | --- |",
    ]
    for row in rows:
        reached = "" if row.met is None else "yes" if row.met else "**no**"
        cells = [
            row.work,
            row.unit,
            figure(row.ours),
            row.peer,
            figure(row.theirs),
            figure(row.ratio),
            row.target,
            reached,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
