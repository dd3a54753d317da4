import Foundation
import Metrics
import Wire

/// The rules of passwords: 8 to 128 characters, stored as Argon2id hashes, verified in the same time for every account.
final class Passwords: Sendable {
    static let length = 8...128

    private let threads: HashingThreads
    private let parameters: Argon2id.Parameters
    private let breached: BreachedPasswords?
    /// The hash that is compared if an account has none, so that response times do not reveal which accounts exist.
    private let decoy: String

    init(
        parameters: Argon2id.Parameters,
        threads: Int,
        maximumWaiting: Int,
        breached: BreachedPasswords? = nil
    ) throws {
        self.threads = HashingThreads(count: threads, maximumWaiting: maximumWaiting)
        self.parameters = parameters
        self.breached = breached
        decoy = try Argon2id.hash(Base64URL.random(bytes: 16), parameters: parameters)
    }

    /// Checks the length of a new password.
    ///
    /// - Throws: a 400 for `field`.
    static func check(_ password: String, field: String = "password") throws {
        guard !password.isEmpty else { throw APIError.missing(field) }
        guard length.contains(password.unicodeScalars.count) else {
            throw APIError.invalid(field, "a password must have 8 to 128 characters", code: "password_length")
        }
    }

    /// Hashes a new password.
    ///
    /// - Throws: a 400 for `field` if the password is in the list of breached passwords; a 429 or 503 if too many jobs
    ///   are waiting.
    func hash(
        _ password: String,
        field: String = "password",
        for share: HashingThreads.Share
    ) async throws -> String {
        let (parameters, breached) = (parameters, breached)
        return try await threads.run(for: share) {
            if try breached?.contains(password) == true {
                throw APIError.invalid(
                    field,
                    "the password is in a list of breached passwords; choose another one",
                    code: "breached_password"
                )
            }
            return try Self.counted { try Argon2id.hash(Self.prepared(password), parameters: parameters) }
        }
    }

    enum VerificationResult: Sendable {
        case wrong
        /// `rehashed` is set if the stored hash has outdated parameters.
        case right(rehashed: String?)
    }

    /// Compares a password with a hash; a missing hash takes the same time.
    ///
    /// - Throws: a 429 or 503 if too many jobs are waiting.
    func verify(
        _ password: String,
        against hash: String?,
        for share: HashingThreads.Share
    ) async throws -> VerificationResult {
        let match = try await firstMatch(password, in: [hash], for: share)
        return match.map { .right(rehashed: $0.rehashed) } ?? .wrong
    }

    struct Match: Sendable {
        /// The index among the compared hashes.
        var index: Int
        /// Set if the stored hash has outdated parameters.
        var rehashed: String?
    }

    /// Compares a password with several hashes until one matches.
    ///
    /// A missing hash takes the time of a mismatch, so that response times do not reveal which hashes exist.
    ///
    /// - Throws: a 429 or 503 if too many jobs are waiting.
    func firstMatch(
        _ password: String,
        in hashes: [String?],
        for share: HashingThreads.Share
    ) async throws -> Match? {
        let (parameters, decoy) = (parameters, decoy)
        return try await threads.run(for: share) {
            let password = Self.prepared(password)
            for (index, hash) in hashes.enumerated() {
                let isRight = try Self.counted { try Argon2id.verify(password, against: hash ?? decoy) }
                guard isRight, let hash else { continue }
                guard Argon2id.parameters(of: hash) != parameters else { return Match(index: index) }
                let rehashed = try Self.counted { try Argon2id.hash(password, parameters: parameters) }
                return Match(index: index, rehashed: rehashed)
            }
            return nil
        }
    }

    private static func counted<Value>(_ hash: () throws -> Value) rethrows -> Value {
        Counter(label: "roost_auth_password_hashes_total").increment()
        return try hash()
    }

    /// Returns the password in NFC (RFC 8265, OpaqueString), because keyboards encode é as one character or as two.
    private static func prepared(_ password: String) -> String {
        password.precomposedStringWithCanonicalMapping
    }
}
