import Foundation
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// Finds out which accounts a request is about: those that came with it, those that are linked, and the suite itself.
struct Sources: Sendable {
    let database: PostgresPool
    let vault: Vault
    let connectors: Connectors

    /// All of somebody's, in the networks' order.
    func all(for asker: Asker) async throws -> [Source] {
        let records = try await AccountStore(db: database).all(of: asker.user)
        return try connectors.all.compactMap { connector in
            if let given = asker.given[connector.network] { return Source(connector: connector, account: given) }
            if connector.network == .roost { return Source(connector: connector, account: asker.roostAccount) }
            guard let record = records.first(where: { $0.network == connector.network }) else { return nil }
            return try source(of: record, asked: connector)
        }
    }

    /// - Throws: `notFound` for a network that is not linked.
    func one(_ network: Network, for asker: Asker) async throws -> Source {
        guard let source = try await found(network, for: asker) else {
            throw APIError(.notFound, "not_linked", "\(network.rawValue) is not linked")
        }
        return source
    }

    /// Nil for a network that is not linked.
    func found(_ network: Network, for asker: Asker) async throws -> Source? {
        try await all(for: asker).first { $0.network == network }
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
            tokens = try vault.open(record.tokens, of: record.user, on: record.network)
        } catch is Sealer.Failure {
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
struct Asker: Sendable {
    var user: User.ID
    /// What he came with, by which the suite's own services know him; empty in background work.
    var credential = ""
    /// The accounts of `meta`: they serve this request alone.
    var given: [Network: NetworkAccount] = [:]

    /// His account on the suite itself.
    var roostAccount: NetworkAccount {
        NetworkAccount(owner: user, id: user.user, tokens: NetworkTokens(access: credential))
    }
}
