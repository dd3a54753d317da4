import Foundation
import Logging
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// Links people's accounts to them, and unlinks them.
struct Linking: Sendable {
    /// Of an account's id on its network, in bytes: more than any has, and than an index takes.
    private static let maximumID = 1_024
    /// Of the address of a picture, in bytes.
    private static let maximumAddress = 2_048

    let database: PostgresPool
    let tokenCipher: TokenCipher
    let connectors: Connectors
    let rules: AccountRules
    let networkGateway: NetworkGateway
    let poller: Poller
    let logger: Logger
    let now: @Sendable () -> Date

    /// Every network, linked or not, with what can be done there.
    func list(of user: User.ID) async throws -> Page<NetworkStatus> {
        let records = try await AccountStore(db: database).all(of: user)
        return Page(
            Network.allCases.map { network in status(of: network, records.first { $0.network == network }, of: user) }
        )
    }

    /// Links the account that the tokens are of, once the network has said whose they are.
    ///
    /// - Throws: `unprocessable` for tokens that the network does not take; `unavailable` while it does not answer.
    func link(_ draft: LinkDraft, to network: Network, for user: User.ID) async throws -> NetworkStatus {
        let connector = try linkable(network)
        return try await save(rules.account(draft, on: network, of: user), by: connector)
    }

    /// Asks whose the account is and keeps it.
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
                "the tokens belong to another account than \"id\" names; leave \"id\" out or send its id or name"
            throw APIError(.unprocessable, "account_mismatch", message, field: "id")
        }
        guard 1...Self.maximumID ~= identity.id.utf8.count else {
            let reason = "it does not say whose the account is"
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
        // Together: what is unlinked in between takes its watches along.
        try await database.transaction { db in
            try await AccountStore(db: db).link(record)
            try await poller.begin(record, supported: supported, in: db)
        }
        await subscribe(account, by: connector)
        return status(of: connector.network, record, of: account.owner)
    }

    /// Forgets an account, and has its network forget the tokens where it can be told to.
    func unlink(_ network: Network, of user: User.ID) async throws -> NetworkStatus {
        let connector = try linkable(network)
        if let record = try await AccountStore(db: database).unlink(network, of: user) {
            await revokeTokens(record, by: connector)
        }
        return status(of: network, nil, of: user)
    }

    /// Gone here in any case: that the network could not be told is noted, and ends with the tokens.
    private func revokeTokens(_ record: AccountRecord, by connector: any Connector) async {
        do {
            let account = NetworkAccount(
                owner: record.user,
                id: record.nativeID,
                username: record.username,
                tokens: try tokenCipher.open(record.tokens, of: record.user, on: record.network),
                instance: record.instance,
                details: record.details
            )
            await unsubscribe(account, by: connector)
            try await within(.seconds(3)) { try await connector.revoke(account) }
        } catch {
            logFailure("tokens could not be revoked", record.network, error)
        }
    }

    /// - Throws: `unprocessable` for a network that nobody links.
    func linkable(_ network: Network) throws -> any Connector {
        guard network != .roost else {
            throw APIError(.unprocessable, "always_linked", "roost is the suite itself, and always linked")
        }
        guard let connector = connectors[network] else {
            throw APIError(.unprocessable, "not_available", "\(network.rawValue) is not available here")
        }
        return connector
    }

    private func status(of network: Network, _ record: AccountRecord?, of user: User.ID) -> NetworkStatus {
        // Twitter's API version depends on the kind of token. Tokens that cannot be decrypted have no capabilities to lose:
        // such an account must be linked again.
        let tokens = record.flatMap { try? tokenCipher.open($0.tokens, of: $0.user, on: $0.network) }
        let account = NetworkAccount(
            owner: user,
            id: record?.nativeID ?? (network == .roost ? user.user : nil),
            username: record?.username,
            tokens: tokens ?? NetworkTokens(access: ""),
            instance: record?.instance,
            details: record?.details ?? [:]
        )
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

    /// Why each missing capability is missing, by a stable code.
    private static func codes(
        of accountCapabilities: AccountCapabilities,
        _ connector: (any Connector)?,
        _ account: NetworkAccount
    ) -> [Capability: CapabilityReason] {
        let missing = Capability.allCases.filter { !accountCapabilities.supported.contains($0) }
        let codes = missing.map { ($0, connector?.reason(why: $0, of: account) ?? .notAvailableHere) }
        return Dictionary(uniqueKeysWithValues: codes)
    }

    /// What somebody who links is told of a network's refusal.
    static func apiError(_ error: NetworkError, of network: Network) -> APIError {
        switch error.kind {
        case .transient, .unknownOutcome: .unavailable(network.rawValue, retryAfter: 5)
        case .rateLimited:
            APIError(.rateLimited, "network_rate_limited", "\(network.rawValue) has had enough for now", retryAfter: 60)
        default: APIError(.unprocessable, "rejected_by_network", "\(network.rawValue) says: \(error.reason)")
        }
    }
}
