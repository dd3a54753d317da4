import Foundation
import Logging
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// Links users' network accounts, and unlinks them.
struct Linking: Sendable {
    /// The maximum length of an account's native id, in bytes: longer than any known id, and short enough for an index.
    private static let maximumID = 1_024
    /// The maximum length of an avatar's URL, in bytes.
    private static let maximumAddress = 2_048

    let database: PostgresPool
    let tokenCipher: TokenCipher
    let connectors: Connectors
    let rules: AccountRules
    let networkGateway: NetworkGateway
    let poller: Poller
    let logger: Logger
    let now: @Sendable () -> Date

    /// Returns the state of every network, linked or not, with the user's capabilities there.
    func list(of user: User.ID) async throws -> Page<NetworkStatus> {
        let records = try await AccountStore(db: database).all(of: user)
        return Page(
            Network.allCases.map { network in status(of: network, records.first { $0.network == network }, of: user) }
        )
    }

    /// Links the account of the tokens after the network has identified it.
    ///
    /// - Throws: `rejected_by_network` if the network does not accept the tokens; `unavailable` if it does not respond.
    func link(_ draft: LinkDraft, to network: Network, for user: User.ID) async throws -> NetworkStatus {
        let connector = try linkable(network)
        return try await save(rules.account(draft, on: network, of: user), by: connector)
    }

    /// Identifies the account at its network and stores it.
    func save(_ account: NetworkAccount, by connector: any Connector) async throws -> NetworkStatus {
        var account = account
        var source = Source(connector: connector, account: account)
        let identity: NetworkIdentity
        do {
            identity = try await networkGateway.call(&source, within: .seconds(10)) { try await $0.identify($1) }
        } catch {
            throw Self.apiError(NetworkError(error, isWrite: false), of: connector.network)
        }
        if let id = account.id, !identity.matches(id) {
            let message =
                "the tokens belong to a different account than \"id\"; omit \"id\", or send that account's id or name"
            throw APIError(.unprocessable, "account_mismatch", message, field: "id")
        }
        guard 1...Self.maximumID ~= identity.id.utf8.count else {
            let reason = "the response does not identify the account"
            throw Self.apiError(NetworkError(.invalid, reason), of: connector.network)
        }
        account.apply(identity)
        let record = AccountRecord(
            user: account.owner,
            network: connector.network,
            nativeID: account.id,
            username: account.username,
            avatarUrl: account.avatarUrl.flatMap { $0.utf8.count <= Self.maximumAddress ? $0 : nil },
            instance: account.instance,
            details: account.details,
            tokens: try tokenCipher.seal(account.tokens, of: account.owner, on: connector.network),
            expiresAt: account.tokens.expiresAt,
            state: .linked,
            linkedAt: now()
        )
        let supported = connector.accountCapabilities(of: account).supported
        // One transaction, so that an unlink in between also deletes the polled lists.
        try await database.transaction { db in
            try await AccountStore(db: db).link(record)
            try await poller.begin(record, supported: supported, in: db)
        }
        await subscribe(account, by: connector)
        return status(of: connector.network, record, of: account.owner)
    }

    /// Unlinks an account and revokes its tokens if the network supports it.
    func unlink(_ network: Network, of user: User.ID) async throws -> NetworkStatus {
        let connector = try linkable(network)
        if let record = try await AccountStore(db: database).unlink(network, of: user) {
            await revokeTokens(record, by: connector)
        }
        return status(of: network, nil, of: user)
    }

    /// Revokes the tokens of an account that is already unlinked here; a failure is only logged, as tokens expire.
    private func revokeTokens(_ record: AccountRecord, by connector: any Connector) async {
        do {
            let tokens = try tokenCipher.open(record.tokens, of: record.user, on: record.network)
            let account = NetworkAccount(record, tokens: tokens)
            await unsubscribe(account, by: connector)
            try await within(.seconds(3)) { try await connector.revoke(account) }
        } catch {
            logFailure("token revocation failed", record.network, error)
        }
    }

    /// - Throws: `always_linked` for `roost`; `not_available` for a network without a connector.
    func linkable(_ network: Network) throws -> any Connector {
        guard network != .roost else {
            throw APIError(.unprocessable, "always_linked", "roost is always linked")
        }
        guard let connector = connectors[network] else {
            throw APIError(.unprocessable, "not_available", "\(network.rawValue) is not available in this deployment")
        }
        return connector
    }

    private func status(of network: Network, _ record: AccountRecord?, of user: User.ID) -> NetworkStatus {
        // Twitter's API version depends on the kind of token. An account whose tokens cannot be decrypted must be
        // linked again, so the capabilities without tokens are correct for it.
        let tokens = record.flatMap { try? tokenCipher.open($0.tokens, of: $0.user, on: $0.network) }
        let noTokens = NetworkTokens(access: "")
        let account =
            record.map { NetworkAccount($0, tokens: tokens ?? noTokens) }
            ?? NetworkAccount(owner: user, id: network == .roost ? user.user : nil, tokens: noTokens)
        let missing = Dictionary(uniqueKeysWithValues: Capability.allCases.map { ($0, "not available here") })
        let accountCapabilities =
            connectors[network]?.accountCapabilities(of: account)
            ?? AccountCapabilities(supported: [], reasons: missing)
        let isLinked = record != nil || network == .roost
        return NetworkStatus(
            network: network,
            linked: isLinked,
            state: record?.state ?? (isLinked ? .linked : nil),
            id: account.id,
            username: record?.username,
            avatarUrl: record?.avatarUrl,
            instance: record?.instance,
            capabilities: Capabilities(accountCapabilities.supported),
            limits: accountCapabilities.limits,
            reasons: accountCapabilities.reasons.filter { !accountCapabilities.supported.contains($0.key) },
            reasonCodes: Self.codes(of: accountCapabilities, connectors[network], account)
        )
    }

    /// Returns the reason code of each missing capability.
    private static func codes(
        of accountCapabilities: AccountCapabilities,
        _ connector: (any Connector)?,
        _ account: NetworkAccount
    ) -> [Capability: CapabilityReason] {
        let missing = Capability.allCases.filter { !accountCapabilities.supported.contains($0) }
        let codes = missing.map { ($0, connector?.reason(why: $0, of: account) ?? .notAvailableHere) }
        return Dictionary(uniqueKeysWithValues: codes)
    }

    /// Returns the API error for a network error while linking.
    static func apiError(_ error: NetworkError, of network: Network) -> APIError {
        switch error.kind {
        case .transient, .unknownOutcome: .unavailable(network.rawValue, retryAfter: 5)
        case .rateLimited:
            APIError(
                .rateLimited,
                "network_rate_limited",
                "\(network.rawValue) limits the request rate; try again later",
                retryAfter: 60
            )
        default:
            APIError(.unprocessable, "rejected_by_network", "\(network.rawValue) rejected the request: \(error.reason)")
        }
    }
}
