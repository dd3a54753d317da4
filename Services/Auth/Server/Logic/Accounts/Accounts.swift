import AuthAPI
import Foundation
import Messages
import Postgres
import ServiceHost
import Wire

/// The rules of accounts: who may be called what, and who is found by which name.
struct Accounts: Sendable {
    /// The most names or ids that one request may ask for.
    static let maximumLookup = 100

    let database: PostgresPool
    let passwords: Passwords
    let events: EventOutbox
    let emailOutbox: EmailOutbox
    let now: @Sendable () -> Date

    /// Makes an account, or gives an anonymous one, if that is who asks, its name; it keeps its id, sessions and all.
    ///
    /// An e-mail address that is somebody else's changes nothing about the answer: it is unverified, and so nobody's. What
    /// the mail to it says is decided when it is written.
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
            throw APIError(.conflict, "already_registered", "this account is registered already")
        }
        // Looked up first, since a hash is dear; the table has the last word.
        if let username, try await AccountStore(db: database.reads).isTaken(username) {
            throw APIError(.conflict, "username_taken", "this username is taken", field: "username")
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
                // Subscribers ask for the names of a user that they do not know, but not for the language.
                if registration.language != nil, let account = try await store.find(id) {
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
                throw APIError(.conflict, "already_registered", "this account is registered already")
            }
            try await events.write(UserChanged(named), in: db)
            try await verify(email, of: id, from: caller, in: db)
        }
        emailOutbox.notify()
        return RegistrationResult(userId: account.userId)
    }

    /// Writes to the address of a registration.
    ///
    /// A client that has had enough mails written gets the same response.
    private func verify(
        _ email: EmailAddress?,
        of account: UUID,
        from caller: ClientInfo,
        in db: PostgresTransaction
    ) async throws {
        guard let email, try await emailOutbox.mayWriteToStrangers(caller, in: db) else { return }
        try await emailOutbox.write(.verify, to: email, about: account, in: db)
    }

    /// Whether the account is already what is asked for: an upgrade whose answer was lost, asked for again.
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
            // Locked by the update of the one or the other, so that two changes come one after the other.
            if let username {
                guard try await store.setUsername(of: id, to: username) != nil else {
                    guard try await store.find(id) != nil else { throw Self.accountNotFound }
                    throw APIError(
                        .conflict,
                        "anonymous_account",
                        "an anonymous account gets its name by registering"
                    )
                }
                try await store.deleteUsername(of: id)
                try await store.remember(username, of: id)
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

    /// The accounts of exactly these names, in the order asked for; a name that is nobody's is left out.
    ///
    /// To people of a customer's application nobody is there: names are of Roost's own accounts alone.
    func find(named names: [String], by requester: User.ID) async throws -> Page<UserSummary> {
        guard !names.isEmpty else { throw APIError.missing("username") }
        guard names.count <= Self.maximumLookup else {
            throw APIError.invalid("username", "at most \(Self.maximumLookup) names at a time", code: "too_many")
        }
        guard !names.contains("") else { throw APIError.missing("username") }
        guard names.allSatisfy({ $0.unicodeScalars.count <= Username.length.upperBound }) else {
            throw APIError.invalid("username", "a username has 1 to 64 characters", code: "username_length")
        }
        guard requester.isRoostUser else { return Page([]) }
        // An @ makes an e-mail address of it, and those are nobody's business.
        let folded = names.map(NameFolding.fold).filter { !$0.contains("@") }
        let found = try await AccountStore(db: database.reads).summaries(named: folded)
        var users: [UserSummary] = []
        for user in folded.compactMap({ found[$0] }) where !users.contains(user) { users.append(user) }
        return Page(users)
    }

    /// Returns those of these users that exist, for other services: accounts of Roost's own application, also anonymous
    /// ones, and users of a customer's application who have a session.
    func find(ids: [String], of application: String) async throws -> Page<UserSummary> {
        guard ids.count <= Self.maximumLookup else {
            throw APIError.invalid("userId", "at most \(Self.maximumLookup) ids at a time", code: "too_many")
        }
        guard application == RoostApplication.id else {
            let known = try await SessionStore(db: database.reads).users(among: ids, of: application, now: now())
            return Page(known.map { UserSummary(userId: $0, username: nil, fullName: nil) })
        }
        let known = ids.compactMap { id in UUID(uuidString: id).flatMap { $0.wire == id ? $0 : nil } }
        return Page(try await AccountStore(db: database.reads).summaries(ids: known))
    }

    private func account(of user: User.ID?) async throws -> Account? {
        guard let id = user?.accountID else { return nil }
        return try await AccountStore(db: database.reads).find(id)
    }

    private static let missingUsername = APIError(
        .invalid,
        "missing_field",
        "The field \"username\" is missing. It may be left out only if there is an \"email\".",
        field: "username"
    )
    static let externalAccount = APIError(.forbidden, "external_account", "this account is kept by another application")
    static let accountNotFound = APIError(.notFound, "account_not_found", "there is no such account")
}

extension UserChanged {
    /// What an account has now.
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
    /// The id of the account, if it is one of Roost's own.
    var accountID: UUID? { isRoostUser ? UUID(uuidString: user) : nil }

    /// The same, of who must have one here.
    ///
    /// - Throws: a 403 for somebody whose account another application keeps.
    func requireAccountID() throws -> UUID {
        guard let accountID else { throw Accounts.externalAccount }
        return accountID
    }
}
