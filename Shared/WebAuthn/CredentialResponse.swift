public import Foundation

/// Bytes encoded as base64url in WebAuthn's JSON (level 3, section 5.1.8).
public struct Base64URLBytes: Hashable, Sendable, Codable {
    /// The decoded bytes.
    public var bytes: Data

    /// Wraps bytes.
    public init(_ bytes: Data) {
        self.bytes = bytes
    }

    /// Decodes a base64url string.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let bytes = Self.decode(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "the text is not base64url")
        }
        self.bytes = bytes
    }

    /// Encodes the bytes as a base64url string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    /// The bytes in base64url without padding.
    public var text: String {
        bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Decodes the canonical form only: no padding and no extra bits at the end.
    private static func decode(_ text: String) -> Data? {
        guard !text.utf8.contains(where: { "+/=".utf8.contains($0) }) else { return nil }
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/") + padding
        guard let bytes = Data(base64Encoded: base64), Base64URLBytes(bytes).text == text else { return nil }
        return bytes
    }
}

/// The result of `navigator.credentials.create()`, as returned by its `toJSON()` (WebAuthn level 3, section 5.1.8).
public struct RegistrationResponse: Codable, Hashable, Sendable {
    /// The authenticator's response.
    public struct Response: Codable, Hashable, Sendable {
        /// The client data, signed by the authenticator.
        public var clientDataJSON: Base64URLBytes
        /// The attestation object in CBOR.
        public var attestationObject: Base64URLBytes
        /// The transports of the authenticator: `internal`, `hybrid`, `usb` and others.
        public var transports: [String]?

        /// Creates a response.
        public init(clientDataJSON: Base64URLBytes, attestationObject: Base64URLBytes, transports: [String]? = nil) {
            self.clientDataJSON = clientDataJSON
            self.attestationObject = attestationObject
            self.transports = transports
        }
    }

    /// The credential's id.
    public var id: Base64URLBytes
    /// The credential's id; must equal `id`.
    public var rawId: Base64URLBytes
    /// Must be `public-key`.
    public var type: String
    /// The authenticator's response.
    public var response: Response

    /// Creates a result.
    public init(id: Base64URLBytes, rawId: Base64URLBytes, type: String, response: Response) {
        self.id = id
        self.rawId = rawId
        self.type = type
        self.response = response
    }
}

/// The result of `navigator.credentials.get()`, as returned by its `toJSON()` (WebAuthn level 3, section 5.1.8).
public struct AuthenticationResponse: Codable, Hashable, Sendable {
    /// The authenticator's response.
    public struct Response: Codable, Hashable, Sendable {
        /// The client data, signed by the authenticator.
        public var clientDataJSON: Base64URLBytes
        /// The signed authenticator data; see ``AuthenticatorData``.
        public var authenticatorData: Base64URLBytes
        /// The signature of the authenticator data and the hash of the client data.
        public var signature: Base64URLBytes
        /// The handle of the credential's user.
        public var userHandle: Base64URLBytes?

        /// Creates a response.
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

    /// The credential's id.
    public var id: Base64URLBytes
    /// The credential's id; must equal `id`.
    public var rawId: Base64URLBytes
    /// Must be `public-key`.
    public var type: String
    /// The authenticator's response.
    public var response: Response

    /// Creates a result.
    public init(id: Base64URLBytes, rawId: Base64URLBytes, type: String, response: Response) {
        self.id = id
        self.rawId = rawId
        self.type = type
        self.response = response
    }
}

/// The client data that the browser collects (WebAuthn level 2, section 5.8.1).
struct ClientData: Decodable {
    var type: String
    var challenge: String
    var origin: String
    var crossOrigin: Bool?

    /// - Throws: `WebAuthnError.malformed`.
    init(_ bytes: Data) throws {
        // Browsers send a few hundred bytes.
        guard bytes.count <= 8_192 else { throw WebAuthnError.malformed("clientDataJSON") }
        // A byte order mark is allowed (UTF-8 decode in section 5.8.1.2).
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Data(bytes.dropFirst(3)) : bytes
        do {
            self = try JSONDecoder().decode(ClientData.self, from: text)
        } catch {
            throw WebAuthnError.malformed("clientDataJSON")
        }
    }
}

extension RegistrationResponse {
    /// The challenge in the client data, in base64url; not verified yet.
    ///
    /// - Throws: `WebAuthnError.malformed`.
    public var claimedChallenge: String {
        get throws { try ClientData(response.clientDataJSON.bytes).challenge }
    }
}

extension AuthenticationResponse {
    /// The challenge in the client data, in base64url; not verified yet.
    ///
    /// - Throws: `WebAuthnError.malformed`.
    public var claimedChallenge: String {
        get throws { try ClientData(response.clientDataJSON.bytes).challenge }
    }
}
