import Foundation

/// The signature base string (RFC 5849, section 3.4.1): the method, the URL and all parameters in canonical form.
public struct OAuth1BaseString: Hashable, Sendable {
    /// The base string.
    public let text: String

    /// Creates a base string; nil if `url` has no scheme or host.
    ///
    /// - Parameters:
    ///   - method: The HTTP method, in any case.
    ///   - url: The request's URL; its query is signed, its fragment is ignored.
    ///   - parameters: The fields of a form body and of the `Authorization` header. `realm` and `oauth_signature` are
    ///     omitted from the result.
    public init?(method: String, url: String, parameters: [FormField]) {
        guard let parts = URLComponents(string: url), let base = Self.baseURL(parts) else { return nil }
        let all = FormField.parse(parts.percentEncodedQuery ?? "") + parameters
        let normalized =
            all
            .filter { $0.name != "oauth_signature" && $0.name != "realm" }
            .map { (PercentEncoding.encode($0.name), PercentEncoding.encode($0.value)) }
            // Sorted by the bytes of the encoded text (section 3.4.1.3.2), which is ASCII, so Swift's comparison is
            // equivalent.
            .sorted { $0 < $1 }
            .map { "\($0)=\($1)" }
            .joined(separator: "&")
        text = [method.uppercased(), base, normalized].map { PercentEncoding.encode($0) }.joined(separator: "&")
    }

    /// Returns the URL without query and fragment, with lower-case scheme and host; a default port is omitted.
    private static func baseURL(_ parts: URLComponents) -> String? {
        guard let scheme = parts.scheme?.lowercased(), let host = parts.percentEncodedHost?.lowercased(),
            !host.isEmpty
        else { return nil }
        let defaultPort = ["http": 80, "https": 443][scheme]
        let port = parts.port.flatMap { $0 == defaultPort ? nil : ":\($0)" } ?? ""
        let path = parts.percentEncodedPath
        return "\(scheme)://\(host)\(port)\(path.isEmpty ? "/" : path)"
    }
}
