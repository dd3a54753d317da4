package import Foundation
package import HTTPTypes
package import NIOCore
import ServiceContextModule
import Wire

/// A client for another service: it sets deadlines, retries safely, forwards request id and trace, and throws
/// `APIError`.
///
/// A service that does not respond causes an `APIError` of kind `unavailable`, which becomes a 503.
package struct ServiceClient: Sendable {
    /// The name of the called service, which is the audience of service tokens.
    package let callee: String
    private let transport: any Transport
    private let retry: RetryPolicy
    private let authorization: @Sendable () throws -> String?

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - callee: the name of the called service.
    ///   - transport: the transport of requests.
    ///   - retry: the retries of failed calls.
    ///   - authorization: returns the `Authorization` header of each call; service tokens are short-lived.
    package init(
        callee: String,
        transport: any Transport,
        retry: RetryPolicy = RetryPolicy(),
        authorization: @escaping @Sendable () throws -> String? = { nil }
    ) {
        self.callee = callee
        self.transport = transport
        self.retry = retry
        self.authorization = authorization
    }

    /// Returns a client for the same service that sends a user's credential.
    package func authorized(as credential: String) -> ServiceClient {
        ServiceClient(callee: callee, transport: transport, retry: retry) { "Bearer \(credential)" }
    }

    package func get<Output: Decodable>(
        _ path: String,
        query: [(String, String)] = [],
        timeout: Duration = .seconds(5),
        as type: Output.Type = Output.self
    ) async throws -> Output {
        try decode(try await send(.get, path, query: query, body: nil, timeout: timeout))
    }

    package func post<Output: Decodable>(
        _ path: String,
        _ body: some Encodable,
        timeout: Duration = .seconds(5),
        as type: Output.Type = Output.self
    ) async throws -> Output {
        let body = try WireJSON.encoder().encode(body)
        return try decode(try await send(.post, path, query: [], body: body, timeout: timeout))
    }

    package func put<Output: Decodable>(
        _ path: String,
        timeout: Duration = .seconds(5),
        as type: Output.Type = Output.self
    ) async throws -> Output {
        try decode(try await send(.put, path, timeout: timeout))
    }

    package func put<Output: Decodable>(
        _ path: String,
        _ body: some Encodable,
        timeout: Duration = .seconds(5),
        as type: Output.Type = Output.self
    ) async throws -> Output {
        let body = try WireJSON.encoder().encode(body)
        return try decode(try await send(.put, path, body: body, timeout: timeout))
    }

    package func patch<Output: Decodable>(
        _ path: String,
        _ body: some Encodable,
        timeout: Duration = .seconds(5),
        as type: Output.Type = Output.self
    ) async throws -> Output {
        let body = try WireJSON.encoder().encode(body)
        return try decode(try await send(.patch, path, body: body, timeout: timeout))
    }

    package func delete<Output: Decodable>(
        _ path: String,
        timeout: Duration = .seconds(5),
        as type: Output.Type = Output.self
    ) async throws -> Output {
        try decode(try await send(.delete, path, timeout: timeout))
    }

    /// Sends a request and returns any response with a 2xx status.
    package func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        query: [(String, String)] = [],
        headers: HTTPFields = [:],
        body: Data? = nil,
        timeout: Duration = .seconds(5)
    ) async throws -> ServiceResponse {
        var request = ServiceRequest(method: method, path: path + Self.encoded(query), headers: headers, body: body)
        if body != nil, request.headers[.contentType] == nil { request.headers[.contentType] = "application/json" }
        try sign(&request)
        let deadline = ContinuousClock.now + timeout
        for attempt in 1... {
            request.timeout = deadline - .now
            let canRetry = attempt < retry.attempts
            let failure: APIError
            let isRetryable: Bool
            do {
                let response = try await transport.send(request)
                if (200..<300).contains(response.status) { return response }
                failure = error(of: response)
                isRetryable = method.isIdempotent && [502, 503, 504].contains(response.status)
            } catch let reason as TransportFailure {
                failure = .unavailable("the service \(callee)")
                isRetryable = reason == .notSent || method.isIdempotent
            }
            guard canRetry, isRetryable else { throw failure }
            let pause = retry.pause(after: attempt)
            guard ContinuousClock.now + pause < deadline else { throw failure }
            try await Task.sleep(for: pause)
        }
        throw APIError.internal  // Unreachable: the loop ends only by returning or throwing.
    }

    /// Sets the headers for authorization, request id and trace.
    private func sign(_ request: inout ServiceRequest) throws {
        if let authorization = try authorization() { request.headers[.authorization] = authorization }
        if let trace = ServiceContext.current?.requestTrace {
            request.headers[.requestID] = trace.requestID
            request.headers[.traceparent] = trace.traceparent
        }
    }

    /// Sends a `GET` request and passes the response on piece by piece, without retries.
    ///
    /// - Parameters:
    ///   - path: the path.
    ///   - query: the query parameters.
    ///   - timeout: the limit until the response begins.
    ///   - consume: receives each piece; the next one is read after it returns.
    /// - Throws: the error of `consume`, or `unavailable` if the service is unavailable or the connection breaks.
    package func receive(
        _ path: String,
        query: [(String, String)] = [],
        timeout: Duration = .seconds(10),
        _ consume: (ByteBuffer) async throws -> Void
    ) async throws {
        var request = ServiceRequest(method: .get, path: path + Self.encoded(query), timeout: timeout)
        try sign(&request)
        do {
            let response = try await transport.receive(request, consume)
            guard (200..<300).contains(response.status) else { throw error(of: response) }
        } catch is TransportFailure {
            throw APIError.unavailable("the service \(callee)")
        }
    }

    private func decode<Output: Decodable>(_ response: ServiceResponse) throws -> Output {
        do {
            return try WireJSON.decoder().decode(Output.self, from: response.body)
        } catch {
            throw APIError(.badGateway, "invalid_response", "the service \(callee) returned an invalid response")
        }
    }

    private func error(of response: ServiceResponse) -> APIError {
        let retryAfter = response.headers[.retryAfter].flatMap { Int($0) }
        // A response without a problem document comes from an intermediary.
        guard let problem = try? WireJSON.decoder().decode(Problem.self, from: response.body) else {
            return response.status >= 500
                ? .unavailable("the service \(callee)")
                : APIError(.badGateway, "invalid_response", "the service \(callee) returned \(response.status)")
        }
        return problem.error(retryAfter: retryAfter)
    }

    private static func encoded(_ query: [(String, String)]) -> String {
        guard !query.isEmpty else { return "" }
        return "?" + query.map { "\(percentEncoded($0.0))=\(percentEncoded($0.1))" }.joined(separator: "&")
    }

    /// Percent-encodes a path segment or a query value.
    package static func percentEncoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    private static let unreserved = CharacterSet(
        charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
    )
}

extension HTTPRequest.Method {
    /// Whether repeating a request has no further effect (RFC 9110, section 9.2.2).
    fileprivate var isIdempotent: Bool {
        [.get, .head, .put, .delete, .options].contains(self)
    }
}

extension HTTPField.Name {
    // A name of RFC 9110's token characters always parses.
    // swift-format-ignore: NeverForceUnwrap
    package static let requestID = HTTPField.Name("X-Request-Id")!
}
