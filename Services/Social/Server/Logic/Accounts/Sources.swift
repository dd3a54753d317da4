import Foundation
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// Finds out which accounts a request is about: those that came with it, those that are linked, and the suite itself.
struct Sources: Sendable {
    let database: PostgresPool
    let tokenCipher: TokenCipher
    let connectors: Connectors

    /// All of somebody's, in the networks' order.
    func all(for caller: Caller) async throws -> [Source] {
        let records = try await AccountStore(db: database).all(of: caller.user)
        return try connectors.all.compactMap { connector in
            if let account = caller.requestAccounts[connector.network] {
                return Source(connector: connector, account: account)
            }
            if connector.network == .roost { return Source(connector: connector, account: caller.roostAccount) }
            guard let record = records.first(where: { $0.network == connector.network }) else { return nil }
            return try source(of: record, asked: connector)
        }
    }

    /// - Throws: `notFound` for a network that is not linked.
    func require(_ network: Network, for caller: Caller) async throws -> Source {
        guard let source = try await found(network, for: caller) else {
            throw APIError(.notFound, "not_linked", "\(network.rawValue) is not linked")
        }
        return source
    }

    /// Nil for a network that is not linked.
    func found(_ network: Network, for caller: Caller) async throws -> Source? {
        try await all(for: caller).first { $0.network == network }
    }

    func source(of record: AccountRecord) throws -> Source? {
        guard let connector = connectors[record.network] else { return nil }
        return try source(of: record, asked: connector)
    }

    /// Tokens that no key here opens are as none: the account waits for its person, and the others are read.
    private func source(
        of record: AccountRecord,
        asked connector: any Connector
    ) throws -> Source {
        var record = record
        var tokens = NetworkTokens(access: "")
        do {
            tokens = try tokenCipher.open(record.tokens, of: record.user, on: record.network)
        } catch is TokenEncryptor.Failure {
            record.state = .reauthenticate
        }
        let account = NetworkAccount(
            owner: record.user,
            id: record.nativeID,
            username: record.username,
            tokens: tokens,
            instance: record.instance,
            details: record.details
        )
        return Source(connector: connector, account: account, record: record)
    }
}

/// Who asks, and the accounts that came with his request.
struct Caller: Sendable {
    var user: User.ID
    /// What he came with, by which the suite's own services know him; empty in background work.
    var credential = ""
    /// The accounts of `meta`: they serve this request alone.
    var requestAccounts: [Network: NetworkAccount] = [:]

    /// His account on the suite itself.
    var roostAccount: NetworkAccount {
        NetworkAccount(owner: user, id: user.user, tokens: NetworkTokens(access: credential))
    }
}
