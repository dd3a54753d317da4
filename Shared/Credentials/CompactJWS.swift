package import Foundation
import Wire

/// A strictly parsed JWS in compact form, whose content is not yet trusted.
///
/// Each part must have its canonical base64url encoding, and the header must be an object without repeated names.
/// Header fields that supply a key or request extensions (`jwk`, `jku`, `x5u`, `x5c`, `crit`, `zip`, `b64` and others)
/// are rejected.
package struct CompactJWS {
    package let algorithm: String
    package let type: String?
    package let contentType: String?
    package let keyID: String?
    package let signingInput: Data
    package let payload: Data
    package let signature: Data

    private struct Header: Decodable {
        var alg: String
        var typ: String?
        var cty: String?
        var kid: String?
    }

    private static let forbiddenFields: Set<String> = [
        "jwk", "jku", "x5u", "x5c", "x5t", "x5t#S256", "crit", "zip", "b64", "enc",
    ]

    package init?(_ token: some StringProtocol, maximumLength: Int) {
        guard token.utf8.count <= maximumLength else { return nil }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3,
            let header = Base64URL.decode(parts[0]), header.count <= 1_024,
            let payload = Base64URL.decode(parts[1]), !payload.isEmpty,
            let signature = Base64URL.decode(parts[2]), !signature.isEmpty
        else { return nil }
        // The cause does not matter: a token whose header or payload is invalid JSON is rejected.
        guard (try? JSONValidator.check(header)) != nil, (try? JSONValidator.check(payload)) != nil,
            let names = Self.names(in: header), names.count == Set(names).count,
            Self.forbiddenFields.isDisjoint(with: names),
            let fields = try? WireJSON.decoder().decode(Header.self, from: header)
        else { return nil }
        algorithm = fields.alg
        type = fields.typ
        contentType = fields.cty
        keyID = fields.kid
        signingInput = Data("\(parts[0]).\(parts[1])".utf8)
        self.payload = payload
        self.signature = signature
    }

    /// Returns the names of the header's fields; nil if the header is not a JSON object.
    ///
    /// A name that occurs several times is returned several times.
    private static func names(in header: Data) -> [String]? {
        guard let object = try? WireJSON.decoder().decode([String: JSONValue].self, from: header) else { return nil }
        // The decoder merges repeated names, so their occurrences in the text are counted.
        let text = String(decoding: header, as: UTF8.self)
        return object.keys.flatMap { name in
            Array(repeating: name, count: max(1, text.components(separatedBy: "\"\(name)\"").count - 1))
        }
    }
}
