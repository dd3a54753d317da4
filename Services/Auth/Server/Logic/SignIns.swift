import AuthAPI
import Crypto
import Foundation
import Metrics
import Postgres
import Wire

/// The rules of signing in: by name and password, or as nobody in particular.
struct SignIns: Sendable {
    let database: PostgresPool
    let passwords: Passwords
    let throttle: LoginThrottle
    let issuer: TokenIssuer
    let now: @Sendable () -> Date

    private static let wrong = APIError(.unauthenticated, "invalid_credentials", "the username or password is wrong")

    /// Signs in to a new account without a name; who is signed in to such a one already signs in to it again.
    func anonymous(_ draft: AnonymousDraft, by asking: User.ID?, from caller: Caller) async throws -> SignIn {
        let device = try draft.deviceId.map { try DeviceID($0) }
        if let id = asking?.accountID, try await AccountStore(db: database.reads).find(id)?.isAnonymous == true {
            return try await database.transaction { db in
                try await self.issuer.signIn(id, on: device, from: caller, in: db)
            }
        }
        let id = UUID()
        return try await database.transaction { db in
            try await AccountStore(db: db).insertAnonymous(id: id, at: self.now())
            return try await self.issuer.signIn(id, on: device, from: caller, in: db)
        }
    }

    /// Signs in by username, or verified e-mail address, and password.
    ///
    /// A name that is nobody's costs the same time and gets the same answer as a wrong password. Only so many failures
    /// are answered: past them not even the right password is, but from a device that has signed in before.
    func login(_ draft: LoginDraft, from caller: Caller) async throws -> SignIn {
        guard !draft.username.isEmpty else { throw APIError.missing("username") }
        guard !draft.password.isEmpty else { throw APIError.missing("password") }
        guard draft.username.unicodeScalars.count <= EmailAddress.maximumLength else {
            throw APIError.invalid("username", "a username has 1 to 64 characters", code: "username_length")
        }
        guard draft.password.unicodeScalars.count <= Passwords.length.upperBound else {
            throw APIError.invalid("password", "a password has 8 to 128 characters", code: "password_length")
        }
        let device = try draft.deviceId.map { try DeviceID($0) }

        let name = NameFolding.fold(draft.username)
        let secret = try await AccountStore(db: database.reads).secret(of: name, askedBy: device?.hash)
        let knownDevice = secret?.isDeviceKnown == true ? device?.hash : nil
        let buckets = throttle.buckets(name: name, address: caller.address, knownDevice: knownDevice)
        do {
            try await throttle.check(buckets, at: now(), in: database.reads)
            let verdict = try await passwords.verify(draft.password, against: secret?.passwordHash)
            guard case .right(let rehashed) = verdict, let secret, let hash = secret.passwordHash else {
                try await throttle.count(buckets, at: now(), in: database)
                throw Self.wrong
            }
            let signIn = try await database.transaction { db in
                // Others may have failed meanwhile, and of many tries at once only the first are answered.
                try await self.throttle.check(buckets, at: self.now(), in: db)
                let accounts = AccountStore(db: db)
                guard try await accounts.hold(secret.id, passwordHash: hash) else { throw Self.wrong }
                if let rehashed { try await accounts.replacePasswordHash(of: secret.id, hash, with: rehashed) }
                if let device {
                    try await KnownDeviceStore(db: db).remember(device.hash, of: secret.id, at: self.now())
                }
                try await self.throttle.forgive(buckets, in: db)
                return try await self.issuer.signIn(secret.id, on: device, from: caller, in: db)
            }
            Self.count("signed_in")
            return signIn
        } catch let error as APIError {
            Self.count(error.code)
            throw error
        }
    }

    /// Counts a login by what came of it: `signed_in`, or the code of the error.
    private static func count(_ outcome: String) {
        Counter(label: "roost_auth_logins_total", dimensions: [("outcome", outcome)]).increment()
    }
}

extension DeviceID {
    /// What is kept of a device for telling it again.
    var hash: Data { Data(SHA256.hash(data: Data(text.utf8))) }
}
