package import Foundation
package import HTTPTypes
package import NIOCore

/// The transport of requests to a service: HTTP, or directly to its router in tests.
package protocol Transport: Sendable {
    /// Sends a request and collects the response, regardless of its status.
    ///
    /// - Throws: a `TransportFailure` if there is no response.
    func send(_ request: ServiceRequest) async throws -> ServiceResponse

    /// Sends a request and passes the bytes of a 2xx response to `consume`; other responses are collected.
    ///
    /// The next bytes are read after `consume` returns.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - consume: receives the bytes.
    /// - Returns: the response, without a body if the bytes were passed on.
    /// - Throws: the error of `consume`, or a `TransportFailure` if there is no response or it is incomplete.
    func receive(
        _ request: ServiceRequest,
        _ consume: (ByteBuffer) async throws -> Void
    ) async throws -> ServiceResponse
}

extension Transport {
    /// Passes the whole body on at once, for transports without streaming.
    package func receive(
        _ request: ServiceRequest,
        _ consume: (ByteBuffer) async throws -> Void
    ) async throws -> ServiceResponse {
        let response = try await send(request)
        guard (200..<300).contains(response.status) else { return response }
        try await consume(ByteBuffer(bytes: response.body))
        return ServiceResponse(status: response.status, headers: response.headers)
    }
}

/// A request to a service.
package struct ServiceRequest: Sendable {
    package var method: HTTPRequest.Method
    /// The path and query, percent-encoded.
    package var path: String
    package var headers: HTTPFields
    package var body: Data?
    /// The limit for the response.
    package var timeout: Duration

    package init(
        method: HTTPRequest.Method,
        path: String,
        headers: HTTPFields = [:],
        body: Data? = nil,
        timeout: Duration = .seconds(5)
    ) {
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
        self.timeout = timeout
    }
}

/// The response of a service.
package struct ServiceResponse: Sendable {
    package var status: Int
    package var headers: HTTPFields
    package var body: Data

    package init(status: Int, headers: HTTPFields = [:], body: Data = Data()) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// The reason for a missing response.
package enum TransportFailure: Error, Hashable {
    /// No connection was opened, so the request certainly had no effect.
    case notSent
    /// The connection broke or the response was late, so the request may have had an effect.
    case unanswered
}
