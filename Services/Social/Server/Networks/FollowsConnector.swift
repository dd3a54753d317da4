/// A network that says whom its accounts follow.
protocol FollowsConnector: Connector {
    func follows(_ page: PageRequest, as account: NetworkAccount) async throws -> FollowsPage
}

/// A page of people who are followed; it may have none of them and a next.
struct FollowsPage: Hashable, Sendable {
    struct Person: Hashable, Sendable {
        var username: String
        var iconUrl: String?
    }

    var people: [Person]
    var next: NetworkCursor?
    var budget: Budget?
}

extension FollowsPage: Budgeted {}
