/// The instances of one service, as all event loops share them.
struct UpstreamCluster: Sendable {
    let name: String
    let budget: RetryBudget
    let instances: [InstanceHealth]

    /// The fleet of `service`; what is known of the instances in `previous` is kept.
    init(_ service: UpstreamService, rules: HealthRules, previous: UpstreamCluster? = nil) {
        name = service.name
        budget = previous?.budget ?? RetryBudget()
        instances = service.instances.map { instance in
            previous?.instances.first { $0.instance == instance }
                ?? InstanceHealth(instance: instance, service: service.name, rules: rules)
        }
    }
}
