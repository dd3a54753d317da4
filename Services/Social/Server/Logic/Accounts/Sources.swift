import Foundation
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// Finds the accounts for a request: those in the request, the linked ones and `roost`.
struct Sources: Sendable {
    let database: PostgresPool
    let tokenCipher: TokenCipher
    let connectors: Connectors

    /// Returns all accounts of the caller in the order of the networks.
    func all(for caller: Caller) async throws -> [Source] {
        let records = try await AccountStore(db: database).all(of: caller.user)
        return try connectors.all.compactMap { connector in
            if let account = caller.requestAccounts[connector.network] {
                return Source(connector: connector, account: account)
            }
            if connector.network == .roost { return Source(connector: connector, account: caller.roostAccount) }
            guard let record = records.first(where: { $0.network == connector.network }) else { return nil }
            return try source(of: record, by: connector)
        }
    }

    /// - Throws: `notFound` for a network that is not linked.
    func require(_ network: Network, for caller: Caller) async throws -> Source {
        guard let source = try await found(network, for: caller) else {
            throw APIError(.notFound, "not_linked", "\(network.rawValue) is not linked")
        }
        return source
    }

    /// Returns nil if the network is not linked.
    func found(_ network: Network, for caller: Caller) async throws -> Source? {
        try await all(for: caller).first { $0.network == network }
    }

    func source(of record: AccountRecord) throws -> Source? {
        guard let connector = connectors[record.network] else { return nil }
        return try source(of: record, by: connector)
    }

    /// An account whose tokens cannot be decrypted must be linked again; the user's other accounts still work.
    private func source(
        of record: AccountRecord,
        by connector: any Connector
    ) throws -> Source {
        var record = record
        var tokens = NetworkTokens(access: "")
        do {
            tokens = try tokenCipher.open(record.tokens, of: record.user, on: record.network)
        } catch is TokenEncryptor.Failure {
            record.state = .reauthenticate
        }
        return Source(connector: connector, account: NetworkAccount(record, tokens: tokens), record: record)
    }
}

extension NetworkAccount {
    /// Creates the account of a row, whose tokens are encrypted there.
    init(_ record: AccountRecord, tokens: NetworkTokens) {
        self.init(
            owner: record.user,
            id: record.nativeID,
            username: record.username,
            tokens: tokens,
            instance: record.instance,
            details: record.details
        )
    }
}

/// The user of a request, with the accounts in the request.
struct Caller: Sendable {
    var user: User.ID
    /// The caller's credential for the suite's own services; empty in background work.
    var credential = ""
    /// The accounts in the request's `meta`; they are used for this request only.
    var requestAccounts: [Network: NetworkAccount] = [:]

    /// The caller's account on Roost itself.
    var roostAccount: NetworkAccount {
        NetworkAccount(owner: user, id: user.user, tokens: NetworkTokens(access: credential))
    }
}
