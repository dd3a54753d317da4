@testable import Credentials
import Foundation
@testable import Wire

extension FuzzTarget {
    static let json = [body, token, base64]

    /// A request body, as every route decodes it.
    static let body = FuzzTarget("json") { bytes in
        // Silence: most inputs are no JSON.
        guard let value = try? WireJSON.decode(JSONValue.self, from: Data(bytes)) else { return }
        // Silence: the encoded value may be too long for a body, because some escapes are longer.
        guard let again = try? value.compact(), again.count <= bytes.count else { return }
        precondition((try? WireJSON.decode(JSONValue.self, from: again)) != nil, "an encoded value cannot be decoded")
    }

    static let token = FuzzTarget("compact-jws") { bytes in
        _ = CompactJWS(String(decoding: bytes, as: UTF8.self), maximumLength: 8_192)
    }

    static let base64 = FuzzTarget("base64url") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        guard let decoded = Base64URL.decode(text) else { return }
        precondition(Base64URL.encode(decoded) == text, "base64url has a second spelling")
    }
}
