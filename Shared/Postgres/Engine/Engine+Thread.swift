import CLibpq
import DequeModule
import Locks

extension Engine {
    func loop() {
        var batch: [Command] = []
        while !isFinished {
            inbox.drain(into: &batch)
            now = Monotonic.now()
            if !batch.isEmpty { hasUnrecordedMetrics = true }
            for command in batch { if isFinished { refuse(command) } else { handle(command) } }
            batch.removeAll(keepingCapacity: true)
            if now >= nextTick { tick() }
            if !readsWaiting.isEmpty { sendWaitingReads() }
            if !waiters.isEmpty { assign() }
            if needsConnections { openMissingConnections() }
            if let drainUntil, isDrained || now >= drainUntil { finish() }
            guard !isFinished else { break }
            poller.wait(milliseconds: inbox.sleepIfEmpty() ? sleepMilliseconds() : 0) { event in
                now = Monotonic.now()
                hasUnrecordedMetrics = true
                handle(event)
            }
        }
    }

    private func handle(_ command: Command) {
        switch command {
        case .run(let segment, let route): accept(segment, on: route)
        case .cancelled(let segment): withdraw(segment)
        case .end(let session, let onRelease): end(session, onRelease: onRelease)
        case .open(let session):
            sessions.append(session)
            needsConnections = true
        case .close(let session): close(owned: session)
        case .subscribe(let subscription):
            subscriptions.append(subscription)
            needsConnections = true
        case .unsubscribe(let subscription): drop(subscription)
        case .connectStarted(let id, let handle): proceed(id: id, with: handle)
        case .cancelReturned(let id): cancelReturned(id: id)
        case .shutdown(let onShutdown):
            self.onShutdown.append(onShutdown)
            guard drainUntil == nil else { return }
            drainUntil = now + configuration.drainTimeout.nanoseconds
            for subscription in subscriptions { drop(subscription) }
        case .stop: finish()
        }
    }

    private func handle(_ event: Poller.Event) {
        guard let connection = connections[event.id] else { return }
        switch connection.phase {
        case .starting, .closed: break
        case .polling: poll(connection)
        case .ready:
            if event.isReadable { receive(on: connection) }
            if event.isWritable, connection.isReady { flush(connection) }
        }
    }

    private func accept(_ segment: Segment, on route: Route) {
        guard !segment.isFinished else { return }
        segment.submittedAt = now
        segment.waitingUntil = now + configuration.acquireTimeout.nanoseconds
        switch route {
        case .reads: accept(read: segment)
        case .single: accept(single: segment)
        case .session(let session): accept(segment, in: session)
        }
    }

    /// Whether no work is left.
    private var isDrained: Bool {
        readsWaiting.isEmpty && waiters.isEmpty && !pooled.contains(where: \.isAssigned)
            && sessions.allSatisfy(\.waiting.isEmpty) && connections.values.allSatisfy(\.inFlight.isEmpty)
    }

    /// Closes all connections; work that is still in progress fails.
    private func finish() {
        isFinished = true
        let commands = inbox.close()
        for connection in Array(connections.values) { lose(connection, because: .shutdown) }
        for segment in readsWaiting { segment.finish(with: .failure(.shutDown)) }
        for waiter in waiters { fail(waiter, with: .shutDown) }
        for session in sessions { failWaiting(in: session, with: .shutDown) }
        for subscription in subscriptions { subscription.finish() }
        for command in commands { refuse(command) }
        readsWaiting = []
        waiters = []
        sessions = []
        subscriptions = []
        lifecycle.withLock { $0 = .stopped }
        for resume in onShutdown { resume() }
        onShutdown = []
    }

    /// Completes a command that arrived after the engine stopped, so that its caller does not wait forever.
    private func refuse(_ command: Command) {
        switch command {
        case .run(let segment, _): segment.finish(with: .failure(.shutDown))
        case .end(_, let onRelease): onRelease?()
        case .subscribe(let subscription): subscription.finish()
        case .connectStarted(_, let handle): if let handle { PQfinish(handle.pointer) }
        case .shutdown(let onShutdown): onShutdown()
        case .cancelled, .open, .close, .unsubscribe, .cancelReturned, .stop: break
        }
    }
}

extension PostgresError {
    static let shutDown = PostgresError(.shuttingDown, "the pool is shutting down")
}
