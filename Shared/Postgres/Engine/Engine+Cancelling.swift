import CLibpq
import DequeModule

extension Engine {
    /// Withdraws the request of a cancelled task, as far as that is still possible.
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

    /// Sends a cancel request for the statement that runs on a connection, if no task waits for a result on it.
    ///
    /// A cancel request identifies a connection, not a statement, so it must not reach the server while another
    /// statement runs. For this reason nothing is sent on the connection until the request has returned, and shared
    /// read connections are never cancelled.
    private func cancel(on connection: Connection) {
        guard !connection.isReads, connection.isReady, !connection.isCancelling,
            connection.inFlight.allSatisfy(\.isFinished), let cancel = PQgetCancel(connection.handle)
        else { return }
        connection.cancellingUntil = now + Self.maintenanceTimeout
        let request = CancelRequest(pointer: cancel)
        let id = connection.id
        // PQcancel opens its own connection and blocks.
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

/// libpq's data for a cancel request, independent of the connection.
struct CancelRequest: @unchecked Sendable {
    // Unchecked: only the thread that sends the request uses the pointer.
    let pointer: OpaquePointer

    /// Sends the request, waits until the server has accepted it, and frees it.
    func send() {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { problem in
            // If the request fails, the statement runs until its own timeout.
            _ = PQcancel(pointer, problem.baseAddress, 256)
        }
        PQfreeCancel(pointer)
    }
}
