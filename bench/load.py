"""The result of a load, independent of the load generator."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Load:
    """The number of successful requests and the duration in seconds; latencies in milliseconds."""

    requests: int
    seconds: float
    p50: float
    p99: float

    @property
    def rate(self):
        return self.requests / self.seconds
