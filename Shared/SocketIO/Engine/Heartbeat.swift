import NIOCore

/// When something is to be heard of a client, or said to it.
struct Heartbeat {
    /// Of the next ping, or by when its answer has to be there; in revision 3, by when the client has to ping.
    private(set) var deadline: NIODeadline
    private(set) var awaitsPong = false

    init(at deadline: NIODeadline) {
        self.deadline = deadline
    }

    init(opened now: NIODeadline, _ revision: EngineRevision, _ configuration: SocketIOConfiguration) {
        deadline = now
        beat(now, revision, configuration)
    }

    /// The client has shown that it is there.
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
        // A ping goes out rather a step too early than too late, since the client's patience is counted from the last.
        var next = isPingNext ? heartbeat.deadline - core.step : heartbeat.deadline
        if let connectBy { next = min(next, connectBy) }
        if let probe = polling?.probe {
            next = min(next, probe.wasAsked && polling?.poll != nil ? probe.noopAt : probe.deadline)
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

    /// Whether it is dead, though nobody has looked yet.
    var isOverdue: Bool {
        !isPingNext && loop.eventLoop.now >= heartbeat.deadline
    }

    private func checkProbe(_ now: NIODeadline) {
        guard let probe = polling?.probe else { return }
        if now >= probe.deadline {
            endProbe()
        } else if probe.wasAsked, now >= probe.noopAt {
            respondNoop(now)
        }
    }
}
