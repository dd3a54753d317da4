"""What a load came to, whichever program made it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Load:
    """Requests answered, in how many seconds; latencies in milliseconds."""

    requests: int
    seconds: float
    p50: float
    p99: float

    @property
    def rate(self):
        return self.requests / self.seconds
