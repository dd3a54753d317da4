-- Prints the last line of every load, which wrk.py parses.
function done(summary, latency, requests)
    local errors = summary.errors
    local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    io.write(string.format(
        'BENCH {"requests": %d, "microseconds": %d, "p50": %d, "p99": %d, "failed": %d}\n',
        summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), failed
    ))
end
