package import HTTPTypes
package import Testing

/// The statuses with which the routes of a service respond to the roles of their callers.
package enum AuthorizationMatrix<Role: Hashable & Sendable> {
    /// A route, and its status for each role.
    package struct Route: Sendable, CustomTestStringConvertible {
        package let method: HTTPRequest.Method
        package let path: String
        private let body: String?
        private let statuses: [Role: Int]
        private let others: Int

        /// Creates a route from a path in which names in braces are replaced by the values of a test.
        ///
        /// A role that `statuses` does not list gets `others`.
        package init(
            _ method: HTTPRequest.Method,
            _ path: String,
            _ body: String? = nil,
            statuses: [Role: Int],
            others: Int = 404
        ) {
            self.method = method
            self.path = path
            self.body = body
            self.statuses = statuses
            self.others = others
        }

        package var testDescription: String { "\(method) \(path)" }

        /// Sends the request as a role, and expects the role's status.
        @discardableResult
        package func expectStatus(
            for role: Role,
            values: [String: String],
            sourceLocation: SourceLocation = #_sourceLocation,
            send: (HTTPRequest.Method, String, String?) async throws -> TestHTTPResponse
        ) async throws -> TestHTTPResponse {
            let path = values.reduce(path) { $0.replacing("{\($1.key)}", with: $1.value) }
            let response = try await send(method, path, body)
            let expected = statuses[role] ?? others
            #expect(
                response.status == expected,
                "\(method) \(path) as \(role): \(response.text)",
                sourceLocation: sourceLocation
            )
            return response
        }
    }
}
