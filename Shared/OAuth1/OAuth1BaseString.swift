import Foundation

/// The text that a signature is made of (RFC 5849, section 3.4.1): the method, where the request goes and every
/// parameter of it, in the one spelling that both sides arrive at.
public struct OAuth1BaseString: Hashable, Sendable {
    public let text: String

    /// Nil where `url` is none with a scheme and a host.
    ///
    /// - Parameters:
    ///   - method: In any case.
    ///   - url: Where the request goes; its query is signed, its fragment is not sent.
    ///   - parameters: Those of the form in the body, if it is one, and those of the `Authorization` header; `realm` and
    ///     `oauth_signature` are left out here.
    public init?(method: String, url: String, parameters: [FormField]) {
        guard let parts = URLComponents(string: url), let base = Self.baseURL(parts) else { return nil }
        let all = FormField.parse(parts.percentEncodedQuery ?? "") + parameters
        let normal =
            all
            .filter { $0.name != "oauth_signature" && $0.name != "realm" }
            .map { (PercentEncoding.encode($0.name), PercentEncoding.encode($0.value)) }
            // By their bytes, once encoded (section 3.4.1.3.2); what is encoded is ASCII, which Swift compares so.
            .sorted { $0 < $1 }
            .map { "\($0)=\($1)" }
            .joined(separator: "&")
        text = [method.uppercased(), base, normal].map { PercentEncoding.encode($0) }.joined(separator: "&")
    }

    /// Without query and fragment, scheme and host in lower case, a port only if it is not the scheme's own.
    private static func baseURL(_ parts: URLComponents) -> String? {
        guard let scheme = parts.scheme?.lowercased(), let host = parts.percentEncodedHost?.lowercased(),
            !host.isEmpty
        else { return nil }
        let own = ["http": 80, "https": 443][scheme]
        let port = parts.port.flatMap { $0 == own ? nil : ":\($0)" } ?? ""
        let path = parts.percentEncodedPath
        return "\(scheme)://\(host)\(port)\(path.isEmpty ? "/" : path)"
    }
}
