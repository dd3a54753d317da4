import NIOCore

/// The deadline of the next ping or pong.
struct Heartbeat {
    /// Revision 4: when the next ping is sent, or when its pong must arrive.
    ///
    /// Revision 3: when the client must ping.
    private(set) var deadline: NIODeadline
    private(set) var awaitsPong = false

    init(at deadline: NIODeadline) {
        self.deadline = deadline
    }

    init(opened now: NIODeadline, _ revision: EngineRevision, _ configuration: SocketIOConfiguration) {
        deadline = now
        beat(now, revision, configuration)
    }

    /// Restarts the interval after a sign of life from the client.
    mutating func beat(_ now: NIODeadline, _ revision: EngineRevision, _ configuration: SocketIOConfiguration) {
        awaitsPong = false
        deadline = now + TimeAmount(configuration.pingInterval)
        if revision == .three { deadline = deadline + TimeAmount(configuration.pingTimeout) }
    }

    mutating func pinged(_ now: NIODeadline, _ configuration: SocketIOConfiguration) {
        awaitsPong = true
        deadline = now + TimeAmount(configuration.pingTimeout)
    }
}

extension EngineConnection: Timed {
    var nextDeadline: NIODeadline? {
        switch stage {
        case .closed: return nil
        case .leaving(_, let deadline): return deadline
        case .polling, .streaming: break
        }
        // A ping is sent up to one step early, since the client measures its timeout from the previous ping.
        var next = isPingNext ? heartbeat.deadline - core.step : heartbeat.deadline
        if let connectBy { next = min(next, connectBy) }
        if let probe = polling?.probe {
            next = min(next, probe.isConfirmed && polling?.poll != nil ? probe.noopAt : probe.deadline)
        }
        return next
    }

    private var isPingNext: Bool { revision == .four && !heartbeat.awaitsPong }

    func check(_ now: NIODeadline) {
        switch stage {
        case .closed: return
        case .leaving(_, let deadline):
            if now >= deadline { forget() }
            return
        case .polling, .streaming: break
        }
        if let connectBy, now >= connectBy { return closeNow(.forcedServerClose) }
        checkProbe(now)
        if isPingNext {
            guard now + core.step >= heartbeat.deadline else { return }
            heartbeat.pinged(now, core.configuration)
            sendNow(OutgoingPacket("2"))
        } else if now >= heartbeat.deadline {
            closeNow(.pingTimeout)
        }
    }

    /// Whether the heartbeat deadline has passed, even if the timer has not run yet.
    var isOverdue: Bool {
        !isPingNext && loop.eventLoop.now >= heartbeat.deadline
    }

    private func checkProbe(_ now: NIODeadline) {
        guard let probe = polling?.probe else { return }
        if now >= probe.deadline {
            endProbe()
        } else if probe.isConfirmed, now >= probe.noopAt {
            respondNoop(now)
        }
    }
}
