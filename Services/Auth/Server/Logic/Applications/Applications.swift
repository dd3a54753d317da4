import AuthAPI
import Credentials
import CryptoExtras
import Foundation
import Logging
import Postgres
import ServiceHost
import Wire

/// The rules of customers' applications: their owners, their keys and their users.
struct Applications: Sendable {
    /// The most active keys, more than one so that a key can be replaced without an interruption.
    static let maximumKeys = 10
    /// The most revoked keys that are stored, so that an account server that signs with one receives `revoked_key`.
    static let maximumRevokedKeys = 100
    /// The most applications that a user may own.
    ///
    /// Administrators create any number, which have no owner.
    static let maximumOwned = 10
    private static let nameLength = 1...100

    let database: PostgresPool
    let sessionRevocations: SessionRevocations
    let deletionJobs: DeletionJobs
    let cursors: CursorSigner
    /// The threads that create keys; a key takes a tenth of a second of one core.
    let threads: HashingThreads
    let isOpen: Bool
    let logger: Logger
    let now: @Sendable () -> Date

    /// Creates an application, owned by the user who creates it; an application of an administrator has no owner.
    ///
    /// - Throws: `admin_required` if users may not create applications, `account_required` for a user who cannot sign
    ///   in again by username or verified address, `too_many_applications`.
    func create(_ draft: ApplicationDraft, by identity: Identity) async throws -> NewApplication {
        let owner = try owner(identity)
        // Checked before the slow creation of a key, and again under the account's lock.
        if let owner { try await requireCapacity(for: owner, on: database.reads) }
        let name = try Self.name(draft.name)
        let application = Self.id(bytes: 12)
        let applicationKey = Self.id(bytes: 16)
        let (key, publicKey) = try await makeKey()
        try await database.transaction { db in
            let store = ApplicationStore(db: db)
            if let owner {
                guard try await AccountStore(db: db).lock(owner) else { throw Accounts.accountNotFound }
                try await requireCapacity(for: owner, on: db)
            }
            try await store.insert(id: application, name: name, key: applicationKey, owner: owner, at: now())
            _ = try await store.insert(key: key.encryptionKeyId, publicKey, to: application, limit: 1, at: now())
        }
        logger.notice("application created", metadata: ["application": "\(application)"])
        return NewApplication(applicationId: application, applicationKey: applicationKey, key: key)
    }

    /// Returns the owner of an application that the caller creates; nil for an administrator.
    private func owner(_ identity: Identity) throws -> UUID? {
        if identity.isAdmin { return nil }
        guard isOpen else {
            throw APIError(.forbidden, "admin_required", "only administrators may create applications on this server")
        }
        return try identity.user.requireAccountID()
    }

    private func requireCapacity(for owner: UUID, on db: any PostgresExecutor) async throws {
        guard let account = try await AccountStore(db: db).find(owner) else { throw Accounts.accountNotFound }
        guard !account.isAnonymous, account.username != nil || account.emailVerified else {
            throw APIError(
                .forbidden,
                "account_required",
                "an account with a username or a verified e-mail address is required to create an application"
            )
        }
        guard try await ApplicationStore(db: db).count(of: owner) < Self.maximumOwned else {
            throw APIError(
                .unprocessable,
                "too_many_applications",
                "a user may own at most \(Self.maximumOwned) applications; delete one of them first"
            )
        }
    }

    /// Allows only the owner of the application and administrators.
    ///
    /// `includingDeleted` accepts an application that is being deleted.
    ///
    /// - Throws: `application_not_found` for all others, who must not learn whether the application exists.
    func authorize(_ application: String, for identity: Identity, includingDeleted: Bool = false) async throws {
        guard let ownership = try await ApplicationStore(db: database.reads).ownership(of: application),
            includingDeleted || !ownership.isDeleted,
            identity.isAdmin || (ownership.owner != nil && ownership.owner == identity.user.accountID)
        else { throw Self.notFound }
    }

    func show(_ application: String) async throws -> CustomerApplication {
        guard let found = try await ApplicationStore(db: database.reads).find(application) else { throw Self.notFound }
        return found
    }

    func rename(_ application: String, to draft: ApplicationDraft) async throws -> CustomerApplication {
        let name = try Self.name(draft.name)
        return try await database.transaction { db in
            let store = ApplicationStore(db: db)
            guard try await store.rename(application, to: name), let renamed = try await store.find(application)
            else { throw Self.notFound }
            return renamed
        }
    }

    /// Returns the keys of an application, newest first, including the latest revoked ones.
    func keys(of application: String) async throws -> Page<EncryptionKey> {
        Page(try await ApplicationStore(db: database.reads).keys(of: application))
    }

    /// Returns the users who have signed in, in the order of their ids; with `query`, only ids with that prefix.
    func users(
        of application: String,
        query: String?,
        limit: Int,
        cursor: String?,
        by reader: User.ID
    ) async throws -> Page<ApplicationUser> {
        let name = "users of \(application)"
        let after = try cursor.map { cursor in
            // A user's id has up to 255 characters of up to four bytes each.
            try cursors.position(cursor, of: name, for: reader, upTo: 4_096, as: UserCursor.self).userId
        }
        let found = try await ApplicationUserStore(db: database.reads).list(
            of: application,
            prefix: query ?? "",
            after: after ?? "",
            limit: limit + 1
        )
        let shown = Array(found.prefix(limit))
        guard found.count > limit, let last = shown.last else { return Page(shown) }
        return Page(shown, next: try cursors.sign(UserCursor(userId: last.userId), of: name, for: reader))
    }

    /// Returns the applications that a user owns, newest first.
    func list(ownedBy user: User.ID, limit: Int, cursor: String?) async throws -> Page<CustomerApplication> {
        // A user of a customer's application has no account here and therefore owns no application.
        guard let owner = user.accountID else { return Page([]) }
        return try await list(of: owner, by: user, limit: limit, cursor: cursor)
    }

    func list(by user: User.ID, limit: Int, cursor: String?) async throws -> Page<CustomerApplication> {
        try await list(of: nil, by: user, limit: limit, cursor: cursor)
    }

    private func list(
        of owner: UUID?,
        by user: User.ID,
        limit: Int,
        cursor: String?
    ) async throws -> Page<CustomerApplication> {
        let after = try cursor.map { cursor in
            try cursors.position(cursor, of: CustomerApplication.pluralName, for: user, as: Cursor.self).position
        }
        let found = try await ApplicationStore(db: database.reads).list(of: owner, after: after, limit: limit + 1)
        let shown = Array(found.prefix(limit))
        guard found.count > limit, let last = shown.last else { return Page(shown) }
        return Page(shown, next: try cursors.sign(Cursor(last), of: CustomerApplication.pluralName, for: user))
    }

    /// Adds a key to an application; its existing keys stay valid until they are revoked.
    func addKey(to application: String) async throws -> NewEncryptionKey {
        try await require(application)
        // Checked before the creation of a key, which takes a tenth of a second of one core.
        let current = try await ApplicationStore(db: database.reads).keys(of: application)
        guard current.count(where: { $0.revokedAt == nil }) < Self.maximumKeys else { throw Self.tooManyKeys }
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
                throw Self.tooManyKeys
            }
            try await store.deleteRevokedKeys(of: application, keeping: Self.maximumRevokedKeys)
        }
        logger.notice("application key created", metadata: ["application": "\(application)"])
        return key
    }

    /// Revokes a key, which ends all sessions opened with it and all server tokens signed with it.
    func revokeKey(_ key: String, of application: String) async throws {
        let noSuchKey = APIError(.notFound, "key_not_found", "the key does not exist")
        guard let applicationKey = ApplicationKey(application: application, id: key) else { throw noSuchKey }
        try await database.transaction { db in
            guard try await ApplicationStore(db: db).revoke(key: key, of: application, at: now()) else {
                throw noSuchKey
            }
            sessionRevocations.announce(
                [try await RevocationStore(db: db).insert(applicationKey.session, at: now())],
                after: db
            )
        }
        // Logins that locked the key have committed by now, and later logins find it revoked.
        try await sessionRevocations.endAll(openedBy: key, of: application)
        logger.notice("application key revoked", metadata: ["application": "\(application)", "key": "\(key)"])
    }

    /// Deletes a user: all sessions end, and every service that stores user data receives the deletion event.
    ///
    /// Unknown users are accepted, because other services may store a user id that never signed in.
    func deleteUser(_ user: User.ID) async throws {
        try await require(user.application)
        guard !user.user.isEmpty, user.user.unicodeScalars.count <= 255 else {
            throw APIError(.notFound, "user_not_found", "a user id must have 1 to 255 characters")
        }
        try await database.transaction { db in
            try await sessionRevocations.endAll(of: user, in: db)
            try await ApplicationUserStore(db: db).delete(user)
            try await deletionJobs.begin(user, in: db)
        }
    }

    private func require(_ application: String) async throws {
        guard try await ApplicationStore(db: database.reads).applicationKey(of: application) != nil else {
            throw Self.notFound
        }
    }

    private static let tooManyKeys = APIError(
        .unprocessable,
        "too_many_keys",
        "an application may have at most \(maximumKeys) keys; revoke one of them first"
    )

    private func makeKey() async throws -> (NewEncryptionKey, publicKey: Data) {
        try await threads.run {
            let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
            return (
                NewEncryptionKey(encryptionKeyId: Self.id(bytes: 8), encryptionKey: key.pkcs8PEMRepresentation),
                key.publicKey.derRepresentation
            )
        }
    }

    /// Returns random hexadecimal digits, which need no escaping in a shell, a URL or a header.
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
            throw APIError.invalid("name", "a name must have 1 to 100 characters", code: "name_length")
        }
        guard !text.unicodeScalars.contains(where: \.isControl),
            !text.unicodeScalars.allSatisfy(\.properties.isWhitespace)
        else {
            throw APIError.invalid(
                "name",
                "a name must contain a visible character and no control characters",
                code: "name_characters"
            )
        }
        return text
    }

    private static let notFound = APIError(.notFound, "application_not_found", "the application does not exist")
}

/// The list position of an application as a cursor stores it, in microseconds like the database.
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

private struct UserCursor: Codable {
    var userId: String
}
