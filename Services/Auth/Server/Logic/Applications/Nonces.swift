import Crypto
import Foundation
import ServiceHost
import Wire

/// Single-use numbers that keep a captured login token from being used again.
///
/// A nonce contains its creation time and a MAC that binds it to its application. The server therefore stores nothing
/// when it issues one; it stores only the nonces that successful logins used.
struct Nonces: Sendable {
    /// The lifetime of a nonce, in seconds.
    static let lifetime: TimeInterval = 600
    private static let randomSize = 16
    private static let codeSize = 16
    private static let size = 8 + randomSize + codeSize

    enum Validity: Hashable, Sendable {
        /// Issued to this application and unexpired.
        ///
        /// Whether it was already used is stored under `hash`.
        case valid(hash: Data, until: Date)
        case expired
        case unknown
    }

    private let keys: [SymmetricKey]
    private let now: @Sendable () -> Date

    init(_ encryptor: TokenEncryptor, now: @escaping @Sendable () -> Date) {
        keys = encryptor.derivedKeys(for: "login nonce")
        self.now = now
    }

    func make(for application: String) -> String {
        let milliseconds = Int64((now().timeIntervalSince1970 * 1_000).rounded(.down))
        var generator = SystemRandomNumberGenerator()
        var body = withUnsafeBytes(of: milliseconds.bigEndian) { Data($0) }
        body.append(contentsOf: (0..<Self.randomSize).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
        return Base64URL.encode(body + Self.code(of: body, for: application, by: keys[0]))
    }

    func validate(_ nonce: String, of application: String) -> Validity {
        guard nonce.utf8.count <= 2 * Self.size, let bytes = Base64URL.decode(nonce), bytes.count == Self.size else {
            return .unknown
        }
        let (body, code) = (bytes.dropLast(Self.codeSize), bytes.suffix(Self.codeSize))
        let isOurs = keys.contains { key in
            // Compared in constant time.
            zip(Self.code(of: body, for: application, by: key), code).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
        }
        guard isOurs else { return .unknown }
        let milliseconds = body.prefix(8).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        let until = Date(timeIntervalSince1970: Double(milliseconds) / 1_000 + Self.lifetime)
        guard until > now() else { return .expired }
        return .valid(hash: Data(SHA256.hash(data: bytes)), until: until)
    }

    private static func code(of body: Data, for application: String, by key: SymmetricKey) -> Data {
        var hmac = HMAC<SHA256>(key: key)
        hmac.update(data: body)
        hmac.update(data: Data(application.utf8))
        return Data(Data(hmac.finalize()).prefix(codeSize))
    }
}
