import Foundation
import Metrics
import Wire

/// The rules of passwords: 8–128 characters as they are typed, kept as Argon2id, checked in the same time for everyone.
final class Passwords: Sendable {
    static let length = 8...128

    private let threads: HashingThreads
    private let parameters: Argon2id.Parameters
    private let breached: BreachedPasswords?
    /// What is compared where there is nothing to compare, so that nobody learns it from the time.
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

    /// Checks a password that is to be one.
    ///
    /// - Throws: a 400 that names `field`.
    static func check(_ password: String, field: String = "password") throws {
        guard !password.isEmpty else { throw APIError.missing(field) }
        guard length.contains(password.unicodeScalars.count) else {
            throw APIError.invalid(field, "a password has 8 to 128 characters", code: "password_length")
        }
    }

    /// Hashes a password that is to be one.
    ///
    /// - Throws: a 400 that names `field` for one that is known to others; a 429 or 503 where too many are waiting.
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
                    "this password is in a list of stolen ones; choose another",
                    code: "breached_password"
                )
            }
            return try Self.counted { try Argon2id.hash(Self.prepared(password), parameters: parameters) }
        }
    }

    /// What came of a comparison.
    enum VerificationResult: Sendable {
        case wrong
        /// `rehashed` is there if the hash was made with other parameters than today's.
        case right(rehashed: String?)
    }

    /// Compares a password with a hash, or with nothing, in the same time.
    ///
    /// - Throws: a 429 or 503 where too many are waiting.
    func verify(
        _ password: String,
        against hash: String?,
        for share: HashingThreads.Share
    ) async throws -> VerificationResult {
        let match = try await firstMatch(password, in: [hash], for: share)
        return match.map { .right(rehashed: $0.rehashed) } ?? .wrong
    }

    /// A hash that a password fits.
    struct Match: Sendable {
        /// Its position among the hashes that were compared.
        var index: Int
        /// Present if the hash was made with other parameters than today's.
        var rehashed: String?
    }

    /// Compares a password with each of several hashes until one fits.
    ///
    /// A missing hash takes the time of one that does not fit, so that the time does not tell which hashes exist.
    ///
    /// - Throws: a 429 or 503 where too many are waiting.
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

    /// NFC (RFC 8265, OpaqueString), since one keyboard writes é as one character and another as two.
    private static func prepared(_ password: String) -> String {
        password.precomposedStringWithCanonicalMapping
    }
}
