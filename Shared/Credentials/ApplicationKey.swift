import Crypto
package import Foundation

/// A public key of an application's servers, which auth returns to services that receive a signature.
package struct KnownApplicationKey: Codable, Hashable, Sendable {
    /// The name of the key, as `ApplicationKey` formats it.
    package var name: String
    /// The public key as a DER-encoded SubjectPublicKeyInfo.
    package var publicKey: Data

    package init(name: String, publicKey: Data) {
        self.name = name
        self.publicKey = publicKey
    }
}

/// The response to auth's `GET /internal/application-keys?key=`: the requested keys that exist and are not revoked.
package struct KnownApplicationKeys: Codable, Hashable, Sendable {
    /// The maximum number of keys in one request.
    package static let maximum = 100

    package var keys: [KnownApplicationKey]

    package init(keys: [KnownApplicationKey]) {
        self.keys = keys
    }
}

/// The identity of an application's key.
package struct ApplicationKey: Hashable, Sendable {
    package let application: String
    package let id: String

    /// Creates an identity; returns nil if auth never issues such ids, so that no request to auth is needed.
    package init?(application: String, id: String) {
        guard Self.isName(application), Self.isName(id) else { return nil }
        self.application = application
        self.id = id
    }

    /// Parses a key's name.
    package init?(_ name: String) {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 else { return nil }
        self.init(application: parts[0], id: parts[1])
    }

    /// The application's id and the key's id in one text.
    package var name: String { "\(application)/\(id)" }

    /// The id under which the key's revocation is published; all tokens of the key end with it, as those of a session
    /// do.
    ///
    /// The id is derived from the name, so each service can compute it from a token. It is a UUID of version 8 (RFC
    /// 9562), which sessions never have.
    package var session: UUID {
        var bytes = Array(SHA256.hash(data: Data("roost application key \(name)".utf8)).prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    private static func isName(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
