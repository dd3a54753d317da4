import CLibpq
import DequeModule

// Cancelled tasks.
extension Engine {
    /// Undoes what a cancelled task had asked for, as far as that can still be done.
    func withdraw(_ segment: Segment) {
        switch segment.queueState {
        case .unqueued, .done: break
        case .waitingForReads: readsWaiting.removeAll { $0 === segment }
        case .waitingForConnection:
            waiters.removeAll { if case .single(let other) = $0 { other === segment } else { false } }
        case .waitingInSession(let session): session.waiting.removeAll { $0 === segment }
        case .inFlight(let connection): cancel(on: connection)
        }
    }

    /// Asks the server to stop what runs on a connection, if nobody waits for anything on it.
    ///
    /// A cancel request names a connection, not a statement: it must not reach the server once something else runs
    /// there. So nothing is sent on the connection until the request has returned, and shared ones are left alone.
    private func cancel(on connection: Connection) {
        guard !connection.isReads, connection.isReady, !connection.isCancelling,
            connection.inFlight.allSatisfy(\.isFinished), let cancel = PQgetCancel(connection.handle)
        else { return }
        connection.cancellingUntil = now + Self.maintenanceTimeout
        let request = CancelRequest(pointer: cancel)
        let id = connection.id
        // Asking is a connection of its own, and blocks.
        Background.run {
            request.send()
            _ = self.post(.cancelReturned(id: id))
        }
    }

    func cancelReturned(id: UInt64) {
        guard let connection = connections[id] else { return }
        connection.cancellingUntil = nil
        recycle(connection)
        if case .session(let session) = connection.role { pump(session) }
        if let session = connection.session { pump(session) }
    }
}

/// libpq's copy of what a cancel request needs, independent of the connection.
struct CancelRequest: @unchecked Sendable {
    // Unchecked: handed over to the one thread that sends it.
    let pointer: OpaquePointer

    /// Sends the request, waits until the server has taken it, and frees it.
    func send() {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { problem in
            // If it fails the statement runs to its end, which is bounded.
            _ = PQcancel(pointer, problem.baseAddress, 256)
        }
        PQfreeCancel(pointer)
    }
}
