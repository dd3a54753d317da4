"""The delay of a process's event loops, as it reports it on /metrics."""

import re
from dataclasses import dataclass

from bench import web

METRIC = "roost_event_loop_delay_seconds"
_BUCKET = re.compile(METRIC + r"_bucket\{(.*)\} (\S+)")
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True)
class Delays:
    """Numbers of samples by the upper bound of their bucket, in seconds."""

    counts: dict

    @property
    def samples(self):
        return sum(self.counts.values())

    @property
    def worst(self):
        """The upper bound of the slowest sample."""
        return max((bound for bound, count in self.counts.items() if count), default=0.0)

    def share(self, limit):
        """The share of samples within the limit, which is the bound of a bucket."""
        return sum(count for bound, count in self.counts.items() if bound <= limit) / self.samples

    def percentile(self, share):
        """The upper bound of the bucket that this share of the samples does not exceed."""
        passed = 0
        for bound in sorted(self.counts):
            passed += self.counts[bound]
            if passed >= share * self.samples:
                return bound
        return 0.0


def read(running):
    """Returns the samples so far of each loop of a process, by the loop's name and the bound of the bucket."""
    cumulative = {}
    for labels, count in _BUCKET.findall(web.text(running.metrics_url, "/metrics")):
        labels = dict(_LABEL.findall(labels))
        cumulative.setdefault(labels["loop"], {})[float(labels["le"])] = int(float(count))
    if not cumulative:
        raise RuntimeError(f"{running.program.name} has no metric {METRIC}")
    return {loop: _buckets(counts) for loop, counts in cumulative.items()}


def since(earlier, running):
    """Returns the delays of each loop since the earlier `read`. Fails if a loop has no samples."""
    found = {}
    for loop, counts in read(running).items():
        before = earlier.get(loop, {})
        delays = Delays({bound: count - before.get(bound, 0) for bound, count in counts.items()})
        if not delays.samples:
            raise RuntimeError(f"{running.program.name} took no sample of {loop}")
        found[loop] = delays
    return found


def together(delays):
    """Returns the samples of several loops together."""
    counts = {}
    for one in delays:
        for bound, count in one.counts.items():
            counts[bound] = counts.get(bound, 0) + count
    return Delays(counts)


def _buckets(cumulative):
    counts, passed = {}, 0
    for bound in sorted(cumulative):
        counts[bound] = cumulative[bound] - passed
        passed = cumulative[bound]
    return counts
