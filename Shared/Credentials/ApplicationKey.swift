import Crypto
package import Foundation

/// A key that an application's own servers sign with, as auth tells it to the services that are shown a signature.
package struct KnownApplicationKey: Codable, Hashable, Sendable {
    /// What was asked about, as `ApplicationKey` writes it.
    package var name: String
    /// SubjectPublicKeyInfo, DER.
    package var publicKey: Data

    package init(name: String, publicKey: Data) {
        self.name = name
        self.publicKey = publicKey
    }
}

/// An answer of auth's `GET /internal/application-keys?key=`: those of the keys that are there and not revoked.
package struct KnownApplicationKeys: Codable, Hashable, Sendable {
    /// The most keys that one request may ask about.
    package static let maximum = 100

    package var keys: [KnownApplicationKey]

    package init(keys: [KnownApplicationKey]) {
        self.keys = keys
    }
}

/// Which key of which application.
package struct ApplicationKey: Hashable, Sendable {
    package let application: String
    package let id: String

    /// Nil for what auth would never have made: it need not be asked.
    package init?(application: String, id: String) {
        guard Self.isName(application), Self.isName(id) else { return nil }
        self.application = application
        self.id = id
    }

    /// From its name.
    package init?(_ name: String) {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 else { return nil }
        self.init(application: parts[0], id: parts[1])
    }

    /// Both in one text.
    package var name: String { "\(application)/\(id)" }

    /// What its revocation is told by: all that it signed ends with it, as a session's tokens end with the session.
    ///
    /// Made of the name, so that whoever has a token knows it, and a UUID of version 8 (RFC 9562), as no session has.
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
