import Foundation

@testable import AuthServer

extension IdentityFixture {
    /// The next request of a browser: a URL with its query, or a form to post.
    struct Step: Sendable {
        var url: String
        var form: String?

        init(_ url: String) { self.url = url }

        /// The form of Apple's page.
        init?(form page: String) {
            guard let action = page.firstMatch(of: /action="([^"]+)"/) else { return nil }
            url = String(action.1)
            form = page.matches(of: /name="([^"]+)" value="([^"]*)"/).map { match in
                let value = String(match.2).replacing("&quot;", with: "\"").replacing("&amp;", with: "&")
                return "\(match.1)=\(FormCoding.encode(value))"
            }.joined(separator: "&")
        }

        /// The value of a field of the query or form.
        subscript(_ name: String) -> String? {
            var parts = URLComponents()
            parts.percentEncodedQuery = form ?? URLComponents(string: url)?.percentEncodedQuery
            return parts.queryItems?.first { $0.name == name }?.value
        }

        /// A copy with one field changed or removed.
        func changing(_ name: String, to value: String?) -> Step {
            var parts = URLComponents()
            parts.percentEncodedQuery = form ?? URLComponents(string: url)?.percentEncodedQuery
            var items = (parts.queryItems ?? []).filter { $0.name != name }
            if let value { items.append(URLQueryItem(name: name, value: value)) }
            parts.queryItems = items
            var step = self
            if form != nil {
                step.form = parts.percentEncodedQuery
            } else {
                step.url = url.prefix { $0 != "?" } + "?" + (parts.percentEncodedQuery ?? "")
            }
            return step
        }
    }
}
