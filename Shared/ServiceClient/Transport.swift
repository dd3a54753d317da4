package import Foundation
package import HTTPTypes
package import NIOCore

/// How a request reaches a neighbour: over HTTP, or in tests straight into its router.
package protocol Transport: Sendable {
    /// Sends the request and collects the answer, whatever its status.
    ///
    /// - Throws: `TransportFailure` when there is no answer.
    func send(_ request: ServiceRequest) async throws -> ServiceResponse

    /// Sends the request and hands on the bytes of a good answer as they come, the next when `consume` has returned; any
    /// other answer is collected.
    ///
    /// - Returns: the answer, without a body where it was handed on.
    /// - Throws: what `consume` throws; `TransportFailure` when there is no answer, or it breaks off.
    func receive(
        _ request: ServiceRequest,
        _ consume: (ByteBuffer) async throws -> Void
    ) async throws -> ServiceResponse
}

extension Transport {
    /// For those whose answers are there as a whole.
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

/// A request to a neighbour, whole.
package struct ServiceRequest: Sendable {
    package var method: HTTPRequest.Method
    /// Path and query, percent-encoded.
    package var path: String
    package var headers: HTTPFields
    package var body: Data?
    /// How long the answer may take.
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

/// A neighbour's answer, whole.
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

/// Why there was no answer.
package enum TransportFailure: Error, Hashable {
    /// The request certainly had no effect: no connection was made.
    case notSent
    /// The request may have had its effect: the connection broke, or the answer was late.
    case unanswered
}
