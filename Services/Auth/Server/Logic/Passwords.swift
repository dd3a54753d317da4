import Foundation
import Wire

/// The rules of passwords: 8–128 characters as they are typed, kept as Argon2id, checked in the same time for everyone.
final class Passwords: Sendable {
    static let length = 8...128

    private let threads: HashingThreads
    private let parameters: Argon2id.Parameters
    /// What is compared where there is nothing to compare, so that nobody learns it from the time.
    private let decoy: String

    init(parameters: Argon2id.Parameters, threads: Int, maximumWaiting: Int) throws {
        self.threads = HashingThreads(count: threads, maximumWaiting: maximumWaiting)
        self.parameters = parameters
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

    /// - Throws: a 503 where too many are waiting.
    func hash(_ password: String) async throws -> String {
        let parameters = parameters
        return try await threads.run { try Argon2id.hash(Self.prepared(password), parameters: parameters) }
    }

    /// What came of a comparison.
    enum Verdict: Sendable {
        case wrong
        /// `rehashed` is there if the hash was made with other parameters than today's.
        case right(rehashed: String?)
    }

    /// Compares a password with a hash, or with nothing, in the same time.
    ///
    /// - Throws: a 503 where too many are waiting.
    func verify(_ password: String, against hash: String?) async throws -> Verdict {
        let (parameters, decoy) = (parameters, decoy)
        return try await threads.run {
            let password = Self.prepared(password)
            guard try Argon2id.verify(password, against: hash ?? decoy), let hash else { return .wrong }
            guard Argon2id.parameters(of: hash) != parameters else { return .right(rehashed: nil) }
            return .right(rehashed: try Argon2id.hash(password, parameters: parameters))
        }
    }

    /// NFC (RFC 8265, OpaqueString), since one keyboard writes é as one character and another as two.
    private static func prepared(_ password: String) -> String {
        password.precomposedStringWithCanonicalMapping
    }
}
