import Crypto
import Foundation
import ServiceHost
import Wire

/// What a session is continued with: opaque to clients, and in the database only as its hash.
///
/// It holds its session's id, which says where to look for it; 256 random bits; and a tag under a secret of ours, by
/// which one that was forgotten long ago is told from one that never was.
struct RefreshToken: Sendable {
    /// Longer text is refused as malformed, in characters.
    static let maximumLength = 512
    private static let randomSize = 32
    private static let tagSize = 16

    let text: String
    let session: UUID
    private let body: Data
    private let tag: Data

    /// A new one.
    init(for session: UUID, tags: RefreshTokenTags) {
        var generator = SystemRandomNumberGenerator()
        var body = withUnsafeBytes(of: session.uuid) { Data($0) }
        body.append(contentsOf: (0..<Self.randomSize).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
        self.session = session
        self.body = body
        tag = tags.tag(of: body)
        text = Base64URL.encode(body + tag)
    }

    /// One that a client shows; nil if it cannot be one of ours.
    init?(_ text: String) {
        let size = 16 + Self.randomSize + Self.tagSize
        guard text.utf8.count <= 2 * size, let bytes = Base64URL.decode(text), bytes.count == size else { return nil }
        self.text = text
        session = UUID(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
        body = Data(bytes.dropLast(Self.tagSize))
        tag = Data(bytes.suffix(Self.tagSize))
    }

    /// What is kept of it.
    var hash: Data { Data(SHA256.hash(data: Data(text.utf8))) }

    /// Whether it was made here, whatever became of it.
    func isOurs(_ tags: RefreshTokenTags) -> Bool {
        tags.isTag(tag, of: body)
    }
}

/// Makes and knows the tags of refresh tokens.
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
            // Compared without an early end.
            return zip(expected, tag).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
        }
    }
}
