/// The instances of one service, as all event loops share them.
struct ServiceFleet: Sendable {
    let name: String
    let budget: RetryBudget
    let instances: [InstanceHealth]

    /// The fleet of `service`; what is known of the instances in `former` is kept.
    init(_ service: UpstreamService, rules: HealthRules, former: ServiceFleet? = nil) {
        name = service.name
        budget = former?.budget ?? RetryBudget()
        instances = service.instances.map { instance in
            former?.instances.first { $0.instance == instance }
                ?? InstanceHealth(instance: instance, service: service.name, rules: rules)
        }
    }
}
