import AuthAPI
import Foundation
import Logging
import Postgres
import ServiceHost
import Wire

/// The push credentials of applications: validated when they are set, stored encrypted, and returned only to `push`.
///
/// Each value is encrypted for its application and provider, so it cannot be decrypted after it is moved to another
/// row.
struct PushSetups: Sendable {
    /// Errors that only a damaged database causes.
    enum Failure: Error {
        case unknownProvider(String)
    }

    private typealias Provider = PushCredentialStore.Provider

    let database: PostgresPool
    let encryptor: TokenEncryptor
    let logger: Logger
    let now: @Sendable () -> Date

    func show(_ application: String) async throws -> PushSetup {
        guard try await ApplicationStore(db: database.reads).applicationKey(of: application) != nil else {
            throw Self.notFound
        }
        return try PushSetup(await credentials(of: application))
    }

    func change(_ changes: PushSetupChanges, of application: String) async throws -> PushSetup {
        let apns = try changes.apns.checked(PushCredentialRules.apns)
        let fcm = try changes.fcm.checked(PushCredentialRules.fcm)
        let vapid = try changes.vapid.checked(PushCredentialRules.vapid)
        let changed = try await database.transaction { db in
            // The lock orders concurrent changes.
            guard try await ApplicationStore(db: db).lock(application) else { throw Self.notFound }
            let store = PushCredentialStore(db: db)
            try await set(apns, .apns, of: application, in: store)
            try await set(fcm, .fcm, of: application, in: store)
            try await set(vapid, .vapid, of: application, in: store)
            return try credentials(try await store.list(of: application))
        }
        let providers = [apns.isGiven ? "apns" : nil, fcm.isGiven ? "fcm" : nil, vapid.isGiven ? "vapid" : nil]
        logger.notice(
            "push credentials changed",
            metadata: ["application": "\(application)", "providers": "\(providers.compactMap { $0 })"]
        )
        return try PushSetup(changed)
    }

    /// Returns the credentials with which `push` sends an application's notifications; empty for an unknown
    /// application.
    func credentials(of application: String) async throws -> PushCredentials {
        try credentials(try await PushCredentialStore(db: database.reads).list(of: application))
    }

    static let encrypted = Reencryption.Column(
        "push_credentials",
        value: "ciphertext",
        keyID: "encryption_key_id",
        columns: ["provider", "application_id"]
    ) { columns in
        Provider(rawValue: columns[0]).map { owner($0, of: columns[1]) }
    }

    private func set<Value: Encodable>(
        _ change: Change<Value>,
        _ provider: Provider,
        of application: String,
        in store: PushCredentialStore
    ) async throws {
        switch change {
        case .unchanged: return
        case .cleared: try await store.delete(provider, of: application)
        case .set(let value):
            let text = try WireJSON.encoder(sortedKeys: true).encode(value)
            let ciphertext = try encryptor.seal(text, for: Self.owner(provider, of: application))
            try await store.set(.init(application: application, provider: provider, ciphertext: ciphertext), at: now())
        }
    }

    private func credentials(_ records: [PushCredentialStore.Record]) throws -> PushCredentials {
        var credentials = PushCredentials()
        for record in records {
            let text = try encryptor.open(record.ciphertext, for: Self.owner(record.provider, of: record.application))
            let decoder = WireJSON.decoder()
            switch record.provider {
            case .apns: credentials.apns = try decoder.decode(PushCredentials.APNs.self, from: text)
            case .fcm: credentials.fcm = try decoder.decode(PushCredentials.FCM.self, from: text)
            case .vapid: credentials.vapid = try decoder.decode(PushCredentials.VAPID.self, from: text)
            }
        }
        return credentials
    }

    private static func owner(_ provider: Provider, of application: String) -> String {
        "push credentials \(provider.rawValue) of \(application)"
    }

    private static let notFound = APIError(.notFound, "application_not_found", "the application does not exist")
}

extension Change {
    fileprivate func checked<Checked>(_ check: (Value) throws -> Checked) rethrows -> Change<Checked> {
        switch self {
        case .unchanged: .unchanged
        case .cleared: .cleared
        case .set(let value): .set(try check(value))
        }
    }
}
