public import Foundation

/// Bytes in base64url, as WebAuthn's JSON has them (level 3, section 5.1.8).
public struct Base64URLBytes: Hashable, Sendable, Codable {
    public var bytes: Data

    public init(_ bytes: Data) {
        self.bytes = bytes
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let bytes = Self.decode(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "it is no base64url")
        }
        self.bytes = bytes
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    public var text: String {
        bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Its one spelling: no padding, no stray last bits.
    private static func decode(_ text: String) -> Data? {
        guard !text.utf8.contains(where: { "+/=".utf8.contains($0) }) else { return nil }
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/") + padding
        guard let bytes = Data(base64Encoded: base64), Base64URLBytes(bytes).text == text else { return nil }
        return bytes
    }
}

/// What `navigator.credentials.create()` gives, by its `toJSON()` (WebAuthn level 3, section 5.1.8).
public struct RegistrationResponse: Codable, Hashable, Sendable {
    public struct Response: Codable, Hashable, Sendable {
        public var clientDataJSON: Base64URLBytes
        public var attestationObject: Base64URLBytes
        /// How the authenticator can be reached, by `internal`, `hybrid`, `usb` and others.
        public var transports: [String]?

        public init(clientDataJSON: Base64URLBytes, attestationObject: Base64URLBytes, transports: [String]? = nil) {
            self.clientDataJSON = clientDataJSON
            self.attestationObject = attestationObject
            self.transports = transports
        }
    }

    public var id: Base64URLBytes
    public var rawId: Base64URLBytes
    public var type: String
    public var response: Response

    public init(id: Base64URLBytes, rawId: Base64URLBytes, type: String, response: Response) {
        self.id = id
        self.rawId = rawId
        self.type = type
        self.response = response
    }
}

/// What `navigator.credentials.get()` gives, by its `toJSON()`.
public struct AuthenticationResponse: Codable, Hashable, Sendable {
    public struct Response: Codable, Hashable, Sendable {
        public var clientDataJSON: Base64URLBytes
        public var authenticatorData: Base64URLBytes
        public var signature: Base64URLBytes
        /// Whom the credential was made for.
        public var userHandle: Base64URLBytes?

        public init(
            clientDataJSON: Base64URLBytes,
            authenticatorData: Base64URLBytes,
            signature: Base64URLBytes,
            userHandle: Base64URLBytes? = nil
        ) {
            self.clientDataJSON = clientDataJSON
            self.authenticatorData = authenticatorData
            self.signature = signature
            self.userHandle = userHandle
        }
    }

    public var id: Base64URLBytes
    public var rawId: Base64URLBytes
    public var type: String
    public var response: Response

    public init(id: Base64URLBytes, rawId: Base64URLBytes, type: String, response: Response) {
        self.id = id
        self.rawId = rawId
        self.type = type
        self.response = response
    }
}

/// What the browser says of the ceremony (WebAuthn level 2, section 5.8.1).
struct ClientData: Decodable {
    var type: String
    var challenge: String
    var origin: String
    var crossOrigin: Bool?

    /// - Throws: `WebAuthnError.malformed`.
    init(_ bytes: Data) throws {
        // Browsers write a few hundred bytes.
        guard bytes.count <= 8_192 else { throw WebAuthnError.malformed("clientDataJSON") }
        // A byte order mark may stand first (section 5.8.1.2's UTF-8 decode).
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Data(bytes.dropFirst(3)) : bytes
        do {
            self = try JSONDecoder().decode(ClientData.self, from: text)
        } catch {
            throw WebAuthnError.malformed("clientDataJSON")
        }
    }
}

extension RegistrationResponse {
    /// The challenge that it says it answers, in base64url; not yet believed.
    ///
    /// - Throws: `WebAuthnError.malformed`.
    public var claimedChallenge: String {
        get throws { try ClientData(response.clientDataJSON.bytes).challenge }
    }
}

extension AuthenticationResponse {
    /// The challenge that it says it answers, in base64url; not yet believed.
    ///
    /// - Throws: `WebAuthnError.malformed`.
    public var claimedChallenge: String {
        get throws { try ClientData(response.clientDataJSON.bytes).challenge }
    }
}
