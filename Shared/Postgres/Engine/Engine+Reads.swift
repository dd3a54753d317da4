import DequeModule

extension Engine {
    func accept(read segment: Segment) {
        segment.readDeadline = segment.waitingUntil + segment.timeout + configuration.responseTimeout.nanoseconds
        guard let connection = leastBusyRead() else {
            guard readsWaiting.count < configuration.maximumWaiting else {
                segment.finish(with: .failure(.exhausted("\(readsWaiting.count) reads are already waiting")))
                return
            }
            segment.queueState = .waitingForReads
            readsWaiting.append(segment)
            if reads.count < configuration.readConnections { needsConnections = true }
            return
        }
        transmit(segment, on: connection)
    }

    /// Sends waiting reads as long as connections have capacity.
    func sendWaitingReads() {
        while !readsWaiting.isEmpty, let connection = leastBusyRead() {
            let segment = readsWaiting.removeFirst()
            guard !segment.isFinished else { continue }
            transmit(segment, on: connection)
        }
    }

    private func leastBusyRead() -> Connection? {
        var best: Connection?
        var least = configuration.readsInFlight
        for connection in reads where connection.isReady && connection.inFlight.count < least {
            best = connection
            least = connection.inFlight.count
        }
        return best
    }

    /// Sends a read again, ahead of the waiting ones, after its connection was lost or its plan became stale.
    func retryRead(_ segment: Segment) {
        guard !segment.isFinished else { return }
        segment.reset()
        segment.queueState = .waitingForReads
        readsWaiting.prepend(segment)
    }
}
