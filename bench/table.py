"""What is printed: one row a comparison, ours beside a peer's from the same run."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A figure of ours, a peer's, and what design asks for."""

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
    """Three digits that matter."""
    if value is None:
        return ""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def markdown(rows):
    lines = [
        "| work | unit | ours | peer | theirs | ours ÷ theirs | to reach | reached |",
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
