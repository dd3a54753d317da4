import AuthAPI
import Foundation
import Messages
import Postgres
import ServiceHost
import Wire

/// The rules of accounts: registration, names and lookup.
struct Accounts: Sendable {
    static let maximumLookup = 100

    let database: PostgresPool
    let passwords: Passwords
    let events: EventOutbox
    let emailOutbox: EmailOutbox
    let now: @Sendable () -> Date

    /// Creates an account, or registers the anonymous account of the caller, which keeps its id and sessions.
    ///
    /// An e-mail address that another account uses does not change the response: the new address is unverified and
    /// reserves nothing. The email's text is chosen when the outbox worker sends it.
    func register(
        _ draft: AccountDraft,
        by requester: User.ID?,
        from caller: ClientInfo
    ) async throws -> RegistrationResult {
        var faults = FieldErrors()
        if draft.password.isEmpty { faults.add(.missing("password")) }
        let username = try faults.collect { try draft.username.map { try Username($0) } } ?? nil
        let email = try faults.collect { try draft.email.map { try EmailAddress($0) } } ?? nil
        if draft.username == nil, draft.email == nil { faults.add(Self.missingUsername) }
        let fullName = try faults.collect { try draft.fullName.map { try FullName($0) } } ?? nil
        if !draft.password.isEmpty { _ = try faults.collect { try Passwords.check(draft.password) } }
        try faults.finish()

        let account = try await self.account(of: requester)
        if let account, !account.isAnonymous, Self.isDone(username, email, by: account) {
            throw APIError(.conflict, "already_registered", "this account is already registered")
        }
        // This check only avoids an expensive password hash; the table's constraint decides.
        if let username, try await AccountStore(db: database.reads).isTaken(username) {
            throw APIError(.conflict, "username_taken", "this username is already in use", field: "username")
        }
        let share = HashingThreads.Share(of: caller, account: username?.folded ?? email?.folded)
        let registration = AccountStore.Registration(
            username: username,
            email: email,
            fullName: fullName,
            passwordHash: try await passwords.hash(draft.password, for: share),
            language: caller.language
        )
        guard let account, account.isAnonymous, let id = UUID(uuidString: account.userId) else {
            let id = UUID()
            try await database.transaction { db in
                let store = AccountStore(db: db)
                try await store.insert(registration, id: id, at: now())
                // An account without a username is published when its address is verified: until then, it cannot sign in.
                let isPublished = registration.language != nil || registration.username != nil
                if isPublished, let account = try await store.find(id) {
                    try await events.write(UserChanged(account), in: db)
                }
                try await verify(email, of: id, from: caller, in: db)
            }
            emailOutbox.notify()
            return RegistrationResult(userId: id.wire)
        }
        try await database.transaction { db in
            let store = AccountStore(db: db)
            guard try await store.register(registration, anonymous: id), let named = try await store.find(id) else {
                throw APIError(.conflict, "already_registered", "this account is already registered")
            }
            try await events.write(UserChanged(named), in: db)
            try await verify(email, of: id, from: caller, in: db)
        }
        emailOutbox.notify()
        return RegistrationResult(userId: account.userId)
    }

    /// Queues the verification email of a registration.
    ///
    /// When the client's email limit is reached, no email is queued; the response stays the same.
    private func verify(
        _ email: EmailAddress?,
        of account: UUID,
        from caller: ClientInfo,
        in db: PostgresTransaction
    ) async throws {
        guard let email, try await emailOutbox.mayWriteToStrangers(caller, in: db) else { return }
        try await emailOutbox.write(.verify, to: email, about: account, in: db)
    }

    /// Returns whether the account already has the requested name: the request repeats an upgrade whose response was
    /// lost.
    private static func isDone(_ username: Username?, _ email: EmailAddress?, by account: Account) -> Bool {
        if let username { return account.username.map(NameFolding.fold) == username.folded }
        return account.username == nil && account.email == email?.text
    }

    func show(_ user: User.ID) async throws -> Account {
        guard user.isRoostUser else { throw Self.externalAccount }
        guard let account = try await account(of: user) else { throw Self.accountNotFound }
        return account
    }

    func update(_ changes: AccountChanges, of user: User.ID) async throws -> Account {
        guard user.isRoostUser else { throw Self.externalAccount }
        var faults = FieldErrors()
        if changes.username == .cleared { faults.add(.missing("username")) }
        let username = try faults.collect { try changes.username.value.map { try Username($0) } } ?? nil
        let fullName = try faults.collect { try changes.fullName.value.map { try FullName($0) } } ?? nil
        let language =
            try faults.collect { try changes.language.value.map { try LanguageTag($0, field: "language") } } ?? nil
        try faults.finish()
        guard let id = user.accountID else { throw Self.accountNotFound }
        return try await database.transaction { db in
            let store = AccountStore(db: db)
            // Each of these updates locks the account's row, so concurrent changes run one after the other.
            if let username {
                guard try await store.setUsername(of: id, to: username) != nil else {
                    guard try await store.find(id) != nil else { throw Self.accountNotFound }
                    throw APIError(
                        .conflict,
                        "anonymous_account",
                        "an anonymous account cannot change its username; register the account first"
                    )
                }
                try await store.deleteUsername(of: id)
                try await store.insert(username, of: id)
            }
            if changes.fullName != .unchanged { _ = try await store.setFullName(of: id, to: fullName) }
            if changes.language.isGiven { try await store.setLanguage(of: id, to: language?.description) }
            guard let account = try await store.find(id) else { throw Self.accountNotFound }
            let changesNames = username != nil || changes.fullName.isGiven
            if changesNames || changes.language.isGiven {
                try await events.write(UserChanged(account, changesNames: changesNames), in: db)
            }
            return account
        }
    }

    /// Returns the accounts with exactly these names, in the requested order; unknown names are omitted.
    ///
    /// The result is empty for users of customers' applications, because usernames belong to Roost's own application.
    func find(named names: [String], by requester: User.ID) async throws -> Page<UserSummary> {
        guard !names.isEmpty else { throw APIError.missing("username") }
        guard names.count <= Self.maximumLookup else {
            throw APIError.invalid("username", "at most \(Self.maximumLookup) names are allowed", code: "too_many")
        }
        guard !names.contains("") else { throw APIError.missing("username") }
        guard names.allSatisfy({ $0.unicodeScalars.count <= Username.length.upperBound }) else {
            throw APIError.invalid("username", "a username must have 1 to 64 characters", code: "username_length")
        }
        guard requester.isRoostUser else { return Page([]) }
        // A name with @ is an e-mail address, and users must not find others by address.
        let folded = names.map(NameFolding.fold).filter { !$0.contains("@") }
        let found = try await AccountStore(db: database.reads).summaries(named: folded)
        var users: [UserSummary] = []
        for user in folded.compactMap({ found[$0] }) where !users.contains(user) { users.append(user) }
        return Page(users)
    }

    /// Returns those of the users that exist, for other services.
    ///
    /// For Roost's own application these are all accounts, anonymous ones included. For a customer's application these
    /// are the users with a session.
    func find(ids: [String], of application: String) async throws -> Page<UserSummary> {
        guard ids.count <= Self.maximumLookup else {
            throw APIError.invalid("userId", "at most \(Self.maximumLookup) ids are allowed", code: "too_many")
        }
        guard application == RoostApplication.id else {
            let users = try await SessionStore(db: database.reads).users(among: ids, of: application, now: now())
            return Page(users.map { UserSummary(userId: $0, username: nil, fullName: nil) })
        }
        let uuids = ids.compactMap { id in UUID(uuidString: id).flatMap { $0.wire == id ? $0 : nil } }
        return Page(try await AccountStore(db: database.reads).summaries(ids: uuids))
    }

    private func account(of user: User.ID?) async throws -> Account? {
        guard let id = user?.accountID else { return nil }
        return try await AccountStore(db: database.reads).find(id)
    }

    private static let missingUsername = APIError(
        .invalid,
        "missing_field",
        "the field \"username\" is missing; it is optional only with an \"email\"",
        field: "username"
    )
    static let externalAccount = APIError(
        .forbidden,
        "external_account",
        "users of a customer's application cannot use this endpoint"
    )
    static let accountNotFound = APIError(.notFound, "account_not_found", "the account does not exist")
}

extension UserChanged {
    init(_ account: Account, pictureUrl: String? = nil, changesNames: Bool = true) {
        self.init(
            applicationId: RoostApplication.id,
            userId: account.userId,
            username: account.username,
            fullName: account.fullName,
            pictureUrl: pictureUrl,
            language: account.language.map { .set($0) } ?? .cleared,
            changesNames: changesNames
        )
    }
}

extension User.ID {
    /// The account's id, if the user belongs to Roost's own application.
    var accountID: UUID? { isRoostUser ? UUID(uuidString: user) : nil }

    /// Returns the account's id.
    ///
    /// - Throws: `external_account` for a user of a customer's application.
    func requireAccountID() throws -> UUID {
        guard let accountID else { throw Accounts.externalAccount }
        return accountID
    }
}
