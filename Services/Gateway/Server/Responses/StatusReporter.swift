import NIOCore

/// Reports the status of the services, and probes each instance at most once a second.
actor StatusReporter {
    struct Report: Encodable, Sendable {
        struct Service: Encodable, Sendable {
            let name: String
            /// `up`; `degraded` when some instances are not ready; `down` when no instance is ready.
            let status: String
            let instances: Int
            let ready: Int
            /// The number of restarts after unexpected exits; nil without a supervisor.
            let restarts: Int?
            let lastExit: Exit?
            let perInstance: [Instance]
        }

        /// The last unexpected exit of a process.
        struct Exit: Encodable, Sendable {
            /// For example `signal 11`.
            let reason: String
            let at: String
        }

        struct Instance: Encodable, Sendable {
            /// The instance's tag, which does not reveal its address.
            let instance: String
            let ready: Bool
            /// Whether the instance receives no requests for a while after too many failures.
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
    private static let timeout = TimeAmount.seconds(1)

    private let clusters: [UpstreamCluster]
    private var latest: (report: Report, read: NIODeadline)?
    private var inProgress: Task<Report, Never>?

    init(clusters: [UpstreamCluster]) {
        self.clusters = clusters
    }

    func read() async -> Report {
        if let latest, .now() - latest.read < Self.lifetime { return latest.report }
        if let inProgress { return await inProgress.value }
        let clusters = clusters
        let task = Task { await Self.probe(clusters) }
        inProgress = task
        let report = await task.value
        inProgress = nil
        latest = (report, .now())
        return report
    }

    private static func probe(_ clusters: [UpstreamCluster]) async -> Report {
        let ready = await withTaskGroup(of: (Int, Int, Bool).self) { group in
            for (clusterIndex, cluster) in clusters.enumerated() {
                for (number, health) in cluster.instances.enumerated() {
                    group.addTask {
                        (clusterIndex, number, await ReadyProbe.probe(health, timeout: timeout) == .ready)
                    }
                }
            }
            var ready = clusters.map { $0.instances.map { _ in false } }
            for await (clusterIndex, number, isReady) in group { ready[clusterIndex][number] = isReady }
            return ready
        }
        let services = zip(clusters, ready).map(report)
        return Report(status: services.allSatisfy { $0.status == "up" } ? "up" : "degraded", services: services)
    }

    private static func report(_ cluster: UpstreamCluster, _ ready: [Bool]) -> Report.Service {
        let count = ready.count { $0 }
        let histories = cluster.instances.compactMap(\.history)
        return Report.Service(
            name: cluster.name,
            status: count == ready.count ? "up" : count == 0 ? "down" : "degraded",
            instances: ready.count,
            ready: count,
            restarts: histories.isEmpty ? nil : histories.reduce(0) { $0 + $1.restarts },
            // RFC 3339 timestamps in UTC sort as text.
            lastExit: histories.compactMap(\.exit).max { $0.at < $1.at },
            perInstance: zip(cluster.instances, ready).map { health, isReady in
                let (healthStatus, history) = (health.healthStatus, health.history)
                return Report.Instance(
                    instance: health.instance.tag,
                    ready: isReady,
                    ejected: healthStatus.isEjected,
                    circuit: healthStatus.circuit.name,
                    restarts: history?.restarts,
                    lastExit: history?.exit
                )
            }
        )
    }
}

extension InstanceHistory {
    fileprivate var exit: StatusReporter.Report.Exit? {
        guard let lastExit, let lastExitAt else { return nil }
        return StatusReporter.Report.Exit(reason: lastExit, at: lastExitAt)
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
