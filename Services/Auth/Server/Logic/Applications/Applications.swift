import AuthAPI
import Credentials
import CryptoExtras
import Foundation
import Logging
import Postgres
import ServiceHost
import Wire

/// The rules of customers' applications: who they are, which keys vouch for their people, and how that ends.
struct Applications: Sendable {
    /// Keys in use at a time, so that one can be replaced without a gap.
    static let maximumKeys = 10
    private static let nameLength = 1...100

    let database: PostgresPool
    let ends: SessionEnds
    let departures: Departures
    let cursors: CursorSigner
    /// A key takes a core for a tenth of a second to make.
    let threads: HashingThreads
    let logger: Logger
    let now: @Sendable () -> Date

    func create(_ draft: ApplicationDraft) async throws -> NewApplication {
        let name = try Self.name(draft.name)
        let application = Self.id(bytes: 12)
        let applicationKey = Self.id(bytes: 16)
        let (key, publicKey) = try await makeKey()
        try await database.transaction { db in
            let store = ApplicationStore(db: db)
            try await store.insert(id: application, name: name, key: applicationKey, at: now())
            _ = try await store.insert(key: key.encryptionKeyId, publicKey, to: application, limit: 1, at: now())
        }
        logger.notice("application made", metadata: ["application": "\(application)"])
        return NewApplication(applicationId: application, applicationKey: applicationKey, key: key)
    }

    /// All applications, newest first.
    func list(by user: User.ID, limit: Int, cursor: String?) async throws -> Page<CustomerApplication> {
        let after = try cursor.map { cursor in
            try cursors.position(cursor, of: CustomerApplication.pluralName, for: user, as: Cursor.self).position
        }
        let found = try await ApplicationStore(db: database.reads).list(after: after, limit: limit + 1)
        let shown = Array(found.prefix(limit))
        guard found.count > limit, let last = shown.last else { return Page(shown) }
        return Page(shown, next: try cursors.sign(Cursor(last), of: CustomerApplication.pluralName, for: user))
    }

    /// Gives an application one more key; those it has go on until they are revoked.
    func addKey(to application: String) async throws -> NewEncryptionKey {
        try await require(application)
        let (key, publicKey) = try await makeKey()
        try await database.transaction { db in
            let store = ApplicationStore(db: db)
            guard try await store.lock(application) else { throw Self.notFound }
            guard
                try await store.insert(
                    key: key.encryptionKeyId,
                    publicKey,
                    to: application,
                    limit: Self.maximumKeys,
                    at: now()
                )
            else {
                throw APIError(.unprocessable, "too_many_keys", "an application has \(Self.maximumKeys) keys at most")
            }
        }
        logger.notice("application key made", metadata: ["application": "\(application)"])
        return key
    }

    /// Revokes a key: it vouches for nobody any more, and the sessions it has opened end, as does what the application's
    /// server has signed for itself.
    func revokeKey(_ key: String, of application: String) async throws {
        let noSuchKey = APIError(.notFound, "key_not_found", "there is no such key")
        guard let known = ApplicationKey(application: application, id: key) else { throw noSuchKey }
        try await database.transaction { db in
            guard try await ApplicationStore(db: db).revoke(key: key, of: application, at: now()) else {
                throw noSuchKey
            }
            ends.announce([try await RevocationStore(db: db).insert(known.session, at: now())], after: db)
        }
        // A login that holds the key is over by now, and later ones find it revoked.
        try await ends.endAll(openedBy: key, of: application)
        logger.notice("application key revoked", metadata: ["application": "\(application)", "key": "\(key)"])
    }

    /// Deletes a user: the sessions end, and every service that keeps something of him hears of it.
    ///
    /// Whether one is known here makes no difference: other services may know him by name alone.
    func deleteUser(_ user: User.ID) async throws {
        try await require(user.application)
        guard user.user.unicodeScalars.count <= 255 else {
            throw APIError(.notFound, "user_not_found", "nobody has so long a name")
        }
        try await database.transaction { db in
            try await ends.endAll(of: user, in: db)
            try await departures.begin(user, in: db)
        }
    }

    private func require(_ application: String) async throws {
        guard try await ApplicationStore(db: database.reads).applicationKey(of: application) != nil else {
            throw Self.notFound
        }
    }

    /// A key pair: its private half for the customer, its public one to keep.
    private func makeKey() async throws -> (NewEncryptionKey, publicKey: Data) {
        try await threads.run {
            let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
            return (
                NewEncryptionKey(encryptionKeyId: Self.id(bytes: 8), encryptionKey: key.pkcs8PEMRepresentation),
                key.publicKey.derRepresentation
            )
        }
    }

    /// Random digits that nothing has to be done about in a shell, a URL or a header.
    private static func id(bytes: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<bytes).map { _ in
            let byte = UInt8.random(in: .min ... .max, using: &generator)
            return (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    private static func name(_ text: String) throws -> String {
        guard !text.isEmpty else { throw APIError.missing("name") }
        guard nameLength.contains(text.unicodeScalars.count) else {
            throw APIError.invalid("name", "a name has 1 to 100 characters", code: "name_length")
        }
        guard !text.unicodeScalars.contains(where: \.isControl),
            !text.unicodeScalars.allSatisfy(\.properties.isWhitespace)
        else {
            throw APIError.invalid("name", "a name has a letter and no control character", code: "name_characters")
        }
        return text
    }

    private static let notFound = APIError(.notFound, "application_not_found", "there is no such application")
}

/// The place of an application in the list, as a cursor keeps it: to the microsecond, as the database does.
private struct Cursor: Codable {
    var microseconds: Int64
    var id: String

    init(_ application: CustomerApplication) {
        microseconds = Int64((application.createdAt.timeIntervalSince1970 * 1_000_000).rounded())
        id = application.applicationId
    }

    var position: ApplicationStore.Position {
        .init(createdAt: Date(timeIntervalSince1970: Double(microseconds) / 1_000_000), id: id)
    }
}
