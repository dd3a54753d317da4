package import Foundation
package import HTTPTypes
package import NIOCore
import ServiceContextModule
import Wire

/// How one service calls another: a deadline, careful retries, request id and trace passed on, `APIError` back.
///
/// A neighbour that does not answer is an `APIError` of kind `unavailable`, so that it becomes a clear 503.
package struct ServiceClient: Sendable {
    /// The neighbour's name, which service tokens are made out to.
    package let callee: String
    private let transport: any Transport
    private let retry: RetryPolicy
    private let authorization: @Sendable () throws -> String?

    /// - Parameters:
    ///   - callee: the neighbour's name.
    ///   - transport: the way there.
    ///   - retry: when a call is made again.
    ///   - authorization: the `Authorization` header of each call; a service token is short-lived, so it is asked anew.
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

    /// The same neighbour, asked in the name of somebody by the credential that he came with.
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

    /// Sends a request and hands back any 2xx answer as it is.
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
        throw APIError.internal  // The loop above only ends by returning or throwing.
    }

    /// Says whose request it is, and what it belongs to.
    private func sign(_ request: inout ServiceRequest) throws {
        if let authorization = try authorization() { request.headers[.authorization] = authorization }
        if let trace = ServiceContext.current?.requestTrace {
            request.headers[.requestID] = trace.requestID
            request.headers[.traceparent] = trace.traceparent
        }
    }

    /// Asks for what is too much to be held, and hands it on as it comes; tried once.
    ///
    /// - Parameters:
    ///   - path: what is asked for.
    ///   - query: how.
    ///   - timeout: how long the answer may take to begin.
    ///   - consume: takes each piece in turn.
    /// - Throws: what `consume` throws; `unavailable` where the neighbour is away, or breaks off.
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
            throw APIError(.badGateway, "invalid_response", "the service \(callee) gave an answer that makes no sense")
        }
    }

    private func error(of response: ServiceResponse) -> APIError {
        let retryAfter = response.headers[.retryAfter].flatMap { Int($0) }
        // An answer without a problem in it came from something else on the way.
        guard let problem = try? WireJSON.decoder().decode(Problem.self, from: response.body) else {
            return response.status >= 500
                ? .unavailable("the service \(callee)")
                : APIError(.badGateway, "invalid_response", "the service \(callee) answered \(response.status)")
        }
        return problem.error(retryAfter: retryAfter)
    }

    private static func encoded(_ query: [(String, String)]) -> String {
        guard !query.isEmpty else { return "" }
        return "?" + query.map { "\(percentEncoded($0.0))=\(percentEncoded($0.1))" }.joined(separator: "&")
    }

    /// A path segment or a query value, with everything escaped that has a meaning there.
    package static func percentEncoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    private static let unreserved = CharacterSet(
        charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
    )
}

extension HTTPRequest.Method {
    /// Whether doing it twice is doing it once (RFC 9110, section 9.2.2).
    fileprivate var isIdempotent: Bool {
        [.get, .head, .put, .delete, .options].contains(self)
    }
}

extension HTTPField.Name {
    // A name of RFC 9110's token characters alone always parses.
    // swift-format-ignore: NeverForceUnwrap
    package static let requestID = HTTPField.Name("X-Request-Id")!
}
