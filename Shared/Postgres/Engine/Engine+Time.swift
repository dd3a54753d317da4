import DequeModule

extension Engine {
    private static let tickInterval = 20 * Monotonic.millisecond

    /// Returns the milliseconds until the next deadline, or -1 if there is none.
    func sleepMilliseconds() -> Int32 {
        // While work is in progress, each tick checks the deadlines; one more tick runs after all work is done.
        var until = isActive || hasUnrecordedMetrics ? nextTick : Int64.max
        for subscription in subscriptions { until = min(until, subscription.nextKeepalive) }
        if idle.count > 1, let oldest = idle.lazy.map(\.idleSince).min() {
            until = min(until, oldest + configuration.idleTimeout.nanoseconds)
        }
        until = max(until, nextTick)
        if needsConnections, !backoff.isFailing || !isConnecting { until = min(until, nextAttempt) }
        guard until < .max else { return -1 }
        return Int32(clamping: max(0, (until - now + Monotonic.millisecond - 1) / Monotonic.millisecond))
    }

    private var isActive: Bool {
        drainUntil != nil || !readsWaiting.isEmpty || !waiters.isEmpty
            || sessions.contains { !$0.waiting.isEmpty }
            || connections.values.contains { !$0.isReady || !$0.inFlight.isEmpty || $0.isCancelling }
    }

    /// Checks all deadlines.
    func tick() {
        nextTick = now + Self.tickInterval
        for connection in Array(connections.values) { check(connection) }
        failExpiredWaiters()
        for connection in reads {
            for segment in connection.inFlight where segment.readDeadline < now && !segment.isFinished {
                // The response will be discarded; the segment stays in the queue because responses arrive in order.
                segment.finish(with: .failure(PostgresError(.timeout(outcomeUnknown: false), "the read timed out")))
            }
        }
        for subscription in subscriptions { keepAlive(subscription) }
        closeIdle()
        if hasUnrecordedMetrics { metrics.record(self) }
        hasUnrecordedMetrics = false
    }

    private func check(_ connection: Connection) {
        switch connection.phase {
        case .closed: break
        case .starting, .polling:
            if now - connection.startedAt > configuration.connectTimeout.nanoseconds {
                refused(connection, because: "no response within \(configuration.connectTimeout)")
            }
        case .ready:
            if let until = connection.cancellingUntil, now > until {
                lose(connection, because: .silent)
            } else if let oldest = connection.inFlight.first,
                now - connection.headSince > oldest.timeout + configuration.responseTimeout.nanoseconds
            {
                lose(connection, because: .silent)
            }
        }
    }

    private func failExpiredWaiters() {
        while let segment = readsWaiting.first, segment.isFinished || segment.waitingUntil < now {
            readsWaiting.removeFirst()
            segment.finish(with: .failure(acquireTimeoutError(isConnected: reads.contains(where: \.isReady))))
        }
        while let waiter = waiters.first {
            switch waiter {
            case .single(let segment) where segment.isFinished || segment.waitingUntil < now: break
            case .session(let session) where session.isEnded || session.waitingUntil < now: break
            default: return failExpiredInSessions()
            }
            waiters.removeFirst()
            fail(waiter, with: acquireTimeoutError(isConnected: pooled.contains(where: \.isReady)))
        }
        failExpiredInSessions()
    }

    private func failExpiredInSessions() {
        for session in sessions {
            while let segment = session.waiting.first, segment.isFinished || segment.waitingUntil < now {
                session.waiting.removeFirst()
                segment.finish(with: .failure(acquireTimeoutError(isConnected: session.connection?.isReady == true)))
            }
        }
    }

    private func acquireTimeoutError(isConnected: Bool) -> PostgresError {
        let time = configuration.acquireTimeout
        return isConnected
            ? .exhausted("none became free within \(time)")
            : PostgresError(.unavailable, "no connection within \(time): \(lastProblem)")
    }

    /// Closes connections that have been idle longer than `idleTimeout`, except the last one.
    private func closeIdle() {
        while idle.count > 1, let oldest = idle.first, now - oldest.idleSince > configuration.idleTimeout.nanoseconds {
            lose(oldest, because: .shutdown)
        }
    }
}
