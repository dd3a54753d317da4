import AuthAPI
import Foundation
import HTTPTypes
import Postgres
import SandboxServer
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// An attacker registers another person's address, and the owner of the address signs in later.
@Suite("Account lifecycle", .timeLimit(.minutes(15))) struct IdentityLifecycleTests {
    /// Tries the sequences of up to five steps; of sequences that lead to the same state, only the first is continued.
    @Test("The attacker and the owner of the address are never both in one account")
    func model() async throws {
        try await withIdentities(sendingMail: true) { fixture in
            var frontier: [[LifecycleStep]] = [[]]
            var known: Set<String> = []
            var replays = 0
            for _ in 0..<5 {
                var next: [[LifecycleStep]] = []
                for steps in frontier {
                    for step in LifecycleStep.allCases {
                        replays += 1
                        var model = LifecycleModel(fixture: fixture, number: replays)
                        guard try await model.perform(steps + [step]) else { continue }
                        let state = try await model.state()
                        try #require(!state.hasBothIn, "\(steps + [step]): \(state.text)")
                        if known.insert(state.text).inserted { next.append(steps + [step]) }
                    }
                }
                frontier = next
            }
            // The steps lead to at least 20 different states. Fewer would mean that steps failed unnoticed.
            #expect(known.count >= 20)
        }
    }

    @Test("An owner who follows the attacker's link and signs in with Google shuts the attacker out")
    func preHijack() async throws {
        try await withIdentities(sendingMail: true) { fixture in
            var model = LifecycleModel(fixture: fixture, number: 1)
            let isDone = try await model.perform([
                .attackerRegisters, .attackerAddsCredentials, .ownerFollowsTheirLink,
            ])
            #expect(isDone)
            let attacker = try #require(model.attacker)
            let before = try await model.state()
            #expect(before.text.contains("attacker's password"))
            #expect(before.text.contains("address"))

            #expect(try await model.perform([.ownerSignsInWithGoogle]))

            let after = try await model.state()
            #expect(!after.hasBothIn)
            #expect(try await fixture.auth.login(attacker.username).status == 401)
            #expect(try await fixture.auth.refresh(attacker.refreshToken).status == 401)
            try await eventually(within: .seconds(10)) { try await fixture.auth.me(attacker.jwt).status == 403 }
            let owner = try #require(model.owner)
            #expect(owner.userId == attacker.userId)
            #expect(try await fixture.auth.events(owner.jwt).map(\.kind).contains("credentials.ended"))
            try await fixture.auth.drainEmailOutbox()
            let mails = fixture.sandbox.mailbox.mails(to: model.address)
            #expect(mails.last?.subject == "Another way to sign in to Roost was added to your account")
            // The mail with the attacker's link named the attacker's account.
            #expect(mails.first?.text.contains("The account \"attacker-1\" at Roost asks for it.") == true)
        }
    }

    @Test(
        "An address that was verified with the account's session or password leaves its credentials in place",
        arguments: [true, false]
    )
    func proven(inSession: Bool) async throws {
        try await withIdentities(sendingMail: true) { fixture in
            let model = LifecycleModel(fixture: fixture, number: 1)
            try await fixture.auth.register("ada", email: model.address)
            let ada = try await fixture.auth.signIn("ada")
            let token = try #require(try await model.tokens().last)
            let wrong = try await fixture.auth.post(
                "/auth/email/verify",
                json(["token": .string(token), "password": "not the password"])
            )
            #expect(wrong.status == 403)
            #expect(wrong.problem?.code == "wrong_password")
            var body: [String: JSONValue] = ["token": .string(token)]
            if !inSession { body["password"] = .string(Auth.password) }
            let verified = try await fixture.auth.post(
                "/auth/email/verify",
                json(body),
                token: inSession ? ada.jwt : nil
            )
            #expect(verified.status == 200, "\(verified.text)")

            let linked = try await fixture.signIn(model.ownerName)
            #expect(linked.json["userId"].string == ada.userId)
            #expect(linked.json["created"].bool == false)
            #expect(try await fixture.auth.me(ada.jwt).status == 200)
            #expect(try await fixture.auth.login("ada").status == 200)
        }
    }

    @Test("Verifying an address without a session leaves the session usable")
    func tokenOnly() async throws {
        try await withIdentities(sendingMail: true) { fixture in
            let model = LifecycleModel(fixture: fixture, number: 1)
            try await fixture.auth.register("ada", email: model.address)
            let ada = try await fixture.auth.signIn("ada")
            let token = try #require(try await model.tokens().last)
            #expect(try await fixture.auth.post("/auth/email/verify", json(["token": .string(token)])).status == 200)
            #expect(try await fixture.auth.me(ada.jwt).json["emailVerified"].bool == true)
            #expect(try await fixture.auth.login(model.address).status == 200)
        }
    }

    @Test("A password reset ends the passkeys and identities of an unproven account, and keeps those of a proven one")
    func reset() async throws {
        try await withIdentities(sendingMail: true) { fixture in
            for (number, isProven) in [(1, false), (2, true)] {
                let model = LifecycleModel(fixture: fixture, number: number)
                let name = "ada-\(number)"
                try await fixture.auth.register(name, email: model.address)
                let ada = try await fixture.auth.signIn(name)
                let authenticator = SoftwareAuthenticator()
                #expect(try await fixture.auth.add(authenticator, of: ada).status == 200)
                let token = try #require(try await model.tokens().last)
                let body = json(["token": .string(token)])
                let verified = try await fixture.auth.post("/auth/email/verify", body, token: isProven ? ada.jwt : nil)
                #expect(verified.status == 200)
                // The attacker requests another address; that mail waits until the owner has signed in.
                let evil = "evil-\(number)@example.org"
                try fixture.sandbox.script.add(ScriptRule(service: .smtp, token: evil, status: 451))
                let change = json(["email": .string(evil)])
                #expect(try await fixture.auth.post("/auth/email", change, token: ada.jwt).status == 200)

                _ = try await fixture.auth.post("/auth/password/forgot", json(["email": .string(model.address)]))
                let link = try await model.newToken(besides: [token])
                let reset = json(["token": .string(link), "newPassword": "a new horse for a new day"])
                #expect(try await fixture.auth.post("/auth/password/reset", reset).status == 200)

                #expect(try await fixture.auth.login(by: authenticator).status == (isProven ? 200 : 401))
                let waiting = try await fixture.auth.service.database.pool.one(
                    "SELECT count(*) AS waiting FROM emails WHERE kind = 'verify'"
                ) { try $0.int("waiting") }
                #expect(waiting == 0)
            }
        }
    }
}

/// A step of one of the two people.
enum LifecycleStep: CaseIterable, Sendable {
    /// The attacker registers with the owner's address and signs in.
    case attackerRegisters
    /// Adds a passkey and a Google account in the attacker's session.
    case attackerAddsCredentials
    /// Requests the owner's address in the attacker's session.
    case attackerRequestsAddress
    case ownerRegisters
    /// The owner follows a link that was sent for the attacker's account.
    case ownerFollowsTheirLink
    case ownerFollowsOwnLink
    case ownerFollowsOwnLinkInSession
    case ownerResetsPassword
    case ownerSignsInWithGoogle
}

/// The accounts of an attacker and of the owner of an address.
struct LifecycleModel {
    /// The people who can sign in to each account.
    struct State {
        var text: String
        var hasBothIn: Bool
    }

    static let attackersPassword = "the attacker's own password"
    static let newPassword = "a new horse for a new day"

    let fixture: IdentityFixture
    let number: Int
    var attacker: Auth.Person?
    var owner: Auth.Person?
    /// Accounts in the order of their creation, by id.
    private var accounts: [String] = []
    /// The sessions that each person has had.
    private var sessions: [(isAttackers: Bool, id: UUID)] = []
    /// The hashes of passwords that the owner has set.
    private var ownersHashes: Set<String> = []

    init(fixture: IdentityFixture, number: Int) {
        self.fixture = fixture
        self.number = number
        fixture.sandbox.set(IdentityProfile(email: address), of: ownerName, at: .google)
        fixture.sandbox.set(IdentityProfile(email: attackersAddress), of: attackerName, at: .google)
    }

    // Auth trusts Google's statement that an address is verified only for Google's own addresses, like gmail.com.
    var address: String { "owner-\(number)@gmail.com" }
    var attackersAddress: String { "attacker-\(number)@gmail.com" }
    var ownerName: String { "owner-\(number)" }
    var attackerName: String { "attacker-\(number)" }
    private var pool: PostgresPool { fixture.auth.service.database.pool }

    /// Returns false where a step is impossible.
    mutating func perform(_ steps: [LifecycleStep]) async throws -> Bool {
        for step in steps {
            guard try await perform(step) else { return false }
            try await fixture.auth.drainEmailOutbox()
        }
        return true
    }

    private mutating func perform(_ step: LifecycleStep) async throws -> Bool {
        switch step {
        case .attackerRegisters:
            guard attacker == nil else { return false }
            attacker = try await register(attackerName, Self.attackersPassword, isAttackers: true)
        case .ownerRegisters:
            guard owner == nil else { return false }
            let new = try await register(ownerName, Auth.password, isAttackers: false)
            owner = new
            ownersHashes.insert(try await hash(of: new.userId) ?? "")
        case .attackerAddsCredentials:
            guard let attacker, try await isLive(attacker) else { return false }
            guard try await fixture.auth.add(SoftwareAuthenticator(), of: attacker).status == 200 else { return false }
            return try await fixture.signIn(attackerName, token: attacker.jwt).status == 200
        case .attackerRequestsAddress:
            guard let attacker, try await isLive(attacker) else { return false }
            let body = json(["email": .string(address)])
            return try await fixture.auth.post("/auth/email", body, token: attacker.jwt).status == 200
        case .ownerFollowsTheirLink:
            return try await follow(linkOf: attacker, inSession: false)
        case .ownerFollowsOwnLink:
            return try await follow(linkOf: owner, inSession: false)
        case .ownerFollowsOwnLinkInSession:
            guard let owner, try await isLive(owner) else { return false }
            return try await follow(linkOf: owner, inSession: true)
        case .ownerResetsPassword:
            let before = try await tokens()
            _ = try await fixture.auth.post("/auth/password/forgot", json(["email": .string(address)]))
            try await fixture.auth.drainEmailOutbox()
            guard let token = try await tokens().last(where: { !before.contains($0) }) else { return false }
            let reset = json(["token": .string(token), "newPassword": .string(Self.newPassword)])
            guard try await fixture.auth.post("/auth/password/reset", reset).status == 200 else { return false }
            let answer = try await fixture.auth.login(address, password: Self.newPassword)
            try #require(answer.status == 200, "\(answer.text)")
            try await ownerSignedIn(try fixture.auth.person(answer, ownerName))
        case .ownerSignsInWithGoogle:
            let answer = try await fixture.signIn(ownerName)
            try #require(answer.status == 200, "\(answer.text)")
            try await ownerSignedIn(try fixture.auth.person(answer, ownerName))
        }
        return true
    }

    /// Records that the owner is signed in to an account.
    private mutating func ownerSignedIn(_ person: Auth.Person) async throws {
        owner = person
        if !accounts.contains(person.userId) { accounts.append(person.userId) }
        recordSession(person, isAttackers: false)
        // Set by the owner just now, or in the owner's registration.
        if let hash = try await hash(of: person.userId), person.userId != attacker?.userId || isReset(hash) {
            ownersHashes.insert(hash)
        }
    }

    private func isReset(_ hash: String) -> Bool { (try? Argon2id.verify(Self.newPassword, against: hash)) == true }

    private mutating func register(_ name: String, _ password: String, isAttackers: Bool) async throws -> Auth.Person {
        let answer = try await fixture.auth.post(
            "/auth/register",
            json(["username": .string(name), "password": .string(password), "email": .string(address)])
        )
        try #require(answer.status == 200, "\(answer.text)")
        let person = try fixture.auth.person(try await fixture.auth.login(name, password: password), name)
        accounts.append(person.userId)
        recordSession(person, isAttackers: isAttackers)
        return person
    }

    private mutating func recordSession(_ person: Auth.Person, isAttackers: Bool) {
        guard let token = RefreshToken(person.refreshToken) else { return }
        sessions.append((isAttackers, token.session))
    }

    private func follow(linkOf person: Auth.Person?, inSession: Bool) async throws -> Bool {
        guard let person, let id = UUID(uuidString: person.userId) else { return false }
        for text in try await tokens().reversed() {
            guard let token = EmailLinkToken(text) else { continue }
            let store = EmailLinkStore(db: pool)
            guard try await store.account(of: token.hash, for: .verify, at: fixture.clock.now) == id else { continue }
            let body = json(["token": .string(text)])
            let answer = try await fixture.auth.post("/auth/email/verify", body, token: inSession ? person.jwt : nil)
            return answer.status == 200
        }
        return false
    }

    /// The tokens that were sent to the owner, oldest first.
    func tokens() async throws -> [String] {
        try await fixture.auth.drainEmailOutbox()
        return fixture.sandbox.mailbox.mails(to: address).flatMap(\.links)
            .compactMap { $0.components(separatedBy: "#token=").last }
    }

    /// The token of a mail that has just been requested.
    func newToken(besides known: [String]) async throws -> String {
        func new() -> String? {
            fixture.sandbox.mailbox.mails(to: address).flatMap(\.links)
                .compactMap { $0.components(separatedBy: "#token=").last }
                .last { !known.contains($0) }
        }
        try await eventually { new() != nil }
        return try #require(new())
    }

    private func isLive(_ person: Auth.Person) async throws -> Bool {
        guard let token = RefreshToken(person.refreshToken) else { return false }
        return try await pool.first("SELECT session_id FROM sessions WHERE session_id = \(token.session)") { _ in true }
            ?? false
    }

    private func hash(of account: String) async throws -> String? {
        guard let id = UUID(uuidString: account) else { return nil }
        return try await AccountSecretStore(db: pool).passwordHash(of: id)
    }

    /// Reads from the database which person can sign in to which account.
    func state() async throws -> State {
        var lines: [String] = []
        var hasBothIn = false
        for (index, account) in accounts.enumerated() {
            guard let id = UUID(uuidString: account) else { continue }
            var facts: [String] = []
            let hash = try await hash(of: account)
            if let hash { facts.append(ownersHashes.contains(hash) ? "owner's password" : "attacker's password") }
            let identities = try await IdentityStore(db: pool).list(of: id).map(\.email)
            if identities.contains(address) { facts.append("owner's Google") }
            if identities.contains(attackersAddress) { facts.append("attacker's Google") }
            if try await !PasskeyStore(db: pool).list(of: id).isEmpty { facts.append("attacker's passkey") }
            let live = try await pool.all("SELECT session_id FROM sessions WHERE user_id = \(account)") {
                try $0.uuid("session_id")
            }
            for session in sessions where live.contains(session.id) {
                let fact = session.isAttackers ? "attacker's session" : "owner's session"
                if !facts.contains(fact) { facts.append(fact) }
            }
            let hasAddress = try await AccountStore(db: pool).find(id)
            let isAddressed = hasAddress?.emailVerified == true && hasAddress?.email == address
            let isAttackers = facts.map { $0.hasPrefix("attacker") }
            if isAddressed, Set(isAttackers).count == 2 { hasBothIn = true }
            if isAddressed { facts.append("address") }
            if try await AccountSecretStore(db: pool).isEmailProven(id) { facts.append("proven") }
            let links = try await pool.one("SELECT count(*) AS links FROM email_links WHERE user_id = \(id)") {
                try $0.int("links")
            }
            if links > 0 { facts.append("link") }
            let whose = account == attacker?.userId ? "attacker's" : account == owner?.userId ? "owner's" : "former"
            lines.append("\(index) \(whose): \(facts.joined(separator: ", "))")
        }
        return State(text: lines.joined(separator: "; "), hasBothIn: hasBothIn)
    }
}
