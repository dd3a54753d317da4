/// The instances of one service, shared by all event loops.
struct UpstreamCluster: Sendable {
    let name: String
    let budget: RetryBudget
    let instances: [InstanceHealth]

    /// Creates the cluster of `service`; the health of instances in `previous` is kept.
    init(_ service: UpstreamService, rules: HealthRules, previous: UpstreamCluster? = nil) {
        name = service.name
        budget = previous?.budget ?? RetryBudget()
        instances = service.instances.map { instance in
            previous?.instances.first { $0.instance == instance }
                ?? InstanceHealth(instance: instance, service: service.name, rules: rules)
        }
    }
}
