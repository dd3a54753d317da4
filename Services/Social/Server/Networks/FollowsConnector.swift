/// A network that lists the users that an account follows.
protocol FollowsConnector: Connector {
    func follows(_ page: PageRequest, as account: NetworkAccount) async throws -> FollowsPage
}

/// A page of followed users.
///
/// It may be empty and still have a next page.
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
