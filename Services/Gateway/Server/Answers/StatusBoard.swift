import NIOCore

/// Which services are up, asked of each at most once a second however many want to know.
actor StatusBoard {
    struct Report: Encodable, Sendable {
        struct Service: Encodable, Sendable {
            let name: String
            /// `up`, `degraded` where some instances are not, `down`.
            let status: String
            let instances: Int
            let ready: Int
            /// How often instances were started again because they had ended; nil where no supervisor tells.
            let restarts: Int?
            let lastExit: Exit?
            let perInstance: [Instance]
        }

        /// The last end of a process that nobody had asked for.
        struct Exit: Encodable, Sendable {
            /// As `signal 11`.
            let reason: String
            let at: String
        }

        struct Instance: Encodable, Sendable {
            /// The instance's tag, which says nothing of where it is.
            let instance: String
            let ready: Bool
            /// Whether requests are kept from it for a while, since too many came to nothing.
            let ejected: Bool
            /// `closed`, `half-open` or `open`.
            let circuit: String
            let restarts: Int?
            let lastExit: Exit?
        }

        let status: String
        let services: [Service]
    }

    private static let lifetime = TimeAmount.seconds(1)
    private static let patience = TimeAmount.seconds(1)

    private let fleets: [ServiceFleet]
    private var latest: (report: Report, read: NIODeadline)?
    private var underway: Task<Report, Never>?

    init(fleets: [ServiceFleet]) {
        self.fleets = fleets
    }

    func read() async -> Report {
        if let latest, .now() - latest.read < Self.lifetime { return latest.report }
        if let underway { return await underway.value }
        let fleets = fleets
        let task = Task { await Self.ask(fleets) }
        underway = task
        let report = await task.value
        underway = nil
        latest = (report, .now())
        return report
    }

    private static func ask(_ fleets: [ServiceFleet]) async -> Report {
        let ready = await withTaskGroup(of: (Int, Int, Bool).self) { group in
            for (place, fleet) in fleets.enumerated() {
                for (number, health) in fleet.instances.enumerated() {
                    group.addTask {
                        (place, number, await ReadyProbe.ask(health, patience: patience) == .ready)
                    }
                }
            }
            var ready = fleets.map { $0.instances.map { _ in false } }
            for await (place, number, isReady) in group { ready[place][number] = isReady }
            return ready
        }
        let services = zip(fleets, ready).map(report)
        return Report(status: services.allSatisfy { $0.status == "up" } ? "up" : "degraded", services: services)
    }

    private static func report(_ fleet: ServiceFleet, _ ready: [Bool]) -> Report.Service {
        let count = ready.count { $0 }
        let histories = fleet.instances.compactMap(\.history)
        return Report.Service(
            name: fleet.name,
            status: count == ready.count ? "up" : count == 0 ? "down" : "degraded",
            instances: ready.count,
            ready: count,
            restarts: histories.isEmpty ? nil : histories.reduce(0) { $0 + $1.restarts },
            // RFC 3339 in UTC sorts as text.
            lastExit: histories.compactMap(\.exit).max { $0.at < $1.at },
            perInstance: zip(fleet.instances, ready).map { health, isReady in
                let (standing, history) = (health.standing, health.history)
                return Report.Instance(
                    instance: health.instance.tag,
                    ready: isReady,
                    ejected: standing.isEjected,
                    circuit: standing.circuit.name,
                    restarts: history?.restarts,
                    lastExit: history?.exit
                )
            }
        )
    }
}

extension InstanceHistory {
    fileprivate var exit: StatusBoard.Report.Exit? {
        guard let lastExit, let lastExitAt else { return nil }
        return StatusBoard.Report.Exit(reason: lastExit, at: lastExitAt)
    }
}

extension CircuitBreaker.State {
    fileprivate var name: String {
        switch self {
        case .closed: "closed"
        case .halfOpen: "half-open"
        case .open: "open"
        }
    }
}
