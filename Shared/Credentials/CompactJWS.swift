package import Foundation
import Wire

/// A JWS in its compact form, taken apart strictly; nothing in it is trusted yet.
///
/// Each part has its one canonical base64url spelling, the header is an object without a name twice, and none of the
/// fields by which a token brings its own key or asks for extensions (`jwk`, `jku`, `x5u`, `x5c`, `crit`, `zip`, `b64`)
/// is there.
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

    private static let refused: Set<String> = [
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
        // Whatever is wrong with them, a header or payload that cannot be read makes no token.
        guard (try? JSONValidator.check(header)) != nil, (try? JSONValidator.check(payload)) != nil,
            let names = Self.names(in: header), names.count == Set(names).count, Self.refused.isDisjoint(with: names),
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

    /// The names of the header's fields as written, each time they are; nil where it is not a flat object.
    private static func names(in header: Data) -> [String]? {
        guard let object = try? WireJSON.decoder().decode([String: JSONValue].self, from: header) else { return nil }
        // A name that stands twice is one key here: counted by what the text holds beyond it.
        let text = String(decoding: header, as: UTF8.self)
        return object.keys.flatMap { name in
            Array(repeating: name, count: max(1, text.components(separatedBy: "\"\(name)\"").count - 1))
        }
    }
}
