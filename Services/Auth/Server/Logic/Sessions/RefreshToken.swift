import Crypto
import Foundation
import ServiceHost
import Wire

/// A refresh token: opaque to clients, and stored only as a hash.
///
/// It contains the session's id, which locates the row; 256 random bits; and a MAC. The MAC distinguishes an issued
/// token whose hash was deleted long ago from a token that was never issued.
struct RefreshToken: Sendable {
    /// The longest accepted text, in characters.
    static let maximumLength = 512
    private static let randomSize = 32
    private static let tagSize = 16

    let text: String
    let session: UUID
    private let body: Data
    private let tag: Data

    init(for session: UUID, tags: RefreshTokenTags) {
        var generator = SystemRandomNumberGenerator()
        var body = withUnsafeBytes(of: session.uuid) { Data($0) }
        body.append(contentsOf: (0..<Self.randomSize).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
        self.session = session
        self.body = body
        tag = tags.tag(of: body)
        text = Base64URL.encode(body + tag)
    }

    /// Parses a token; returns nil if it cannot be a token of this server.
    init?(_ text: String) {
        let size = 16 + Self.randomSize + Self.tagSize
        guard text.utf8.count <= 2 * size, let bytes = Base64URL.decode(text), bytes.count == size else { return nil }
        self.text = text
        session = UUID(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
        body = Data(bytes.dropLast(Self.tagSize))
        tag = Data(bytes.suffix(Self.tagSize))
    }

    var hash: Data { Data(SHA256.hash(data: Data(text.utf8))) }

    /// Returns whether this server issued the token, even if its hash was deleted.
    func isOurs(_ tags: RefreshTokenTags) -> Bool {
        tags.isTag(tag, of: body)
    }
}

/// The MACs of refresh tokens.
struct RefreshTokenTags: Sendable {
    private let keys: [SymmetricKey]

    init(_ encryptor: TokenEncryptor) {
        keys = encryptor.derivedKeys(for: "refresh token tag")
    }

    fileprivate func tag(of body: Data) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: body, using: keys[0]).prefix(16))
    }

    fileprivate func isTag(_ tag: Data, of body: Data) -> Bool {
        keys.contains { key in
            let expected = HMAC<SHA256>.authenticationCode(for: body, using: key).prefix(16)
            // Compared in constant time.
            return zip(expected, tag).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
        }
    }
}
