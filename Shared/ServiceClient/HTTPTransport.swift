package import AsyncHTTPClient
import Foundation
import HTTPTypes
package import NIOCore
import NIOHTTP1
import NIOPosix

/// The transport over HTTP, which distributes requests over the instances of a service.
package struct HTTPTransport: Transport {
    private let client: HTTPClient
    private let baseURLs: [String]
    /// The maximum size of a response in bytes.
    private let maximumBody = 8 * 1_024 * 1_024

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - baseURLs: the URLs of the service's instances, without a path; at least one.
    ///   - client: the HTTP client.
    package init(baseURLs: [String], client: HTTPClient = HTTPTransport.calls) {
        precondition(!baseURLs.isEmpty, "a service must have at least one base URL")
        self.client = client
        self.baseURLs = baseURLs.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
    }

    /// The shared connections of all calls, open for the life of the process.
    package static let calls = connections(within: .seconds(2))
    /// The shared connections of streamed responses.
    private static let streams = connections(within: .seconds(5))

    /// Creates a client whose connections time out after 60 s without data.
    private static func connections(within timeout: TimeAmount) -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        configuration.timeout.connect = timeout
        configuration.timeout.read = .seconds(60)
        // The client's retries would use the same instance with growing delays, so a restarted instance would stay
        // unnoticed for up to a minute.
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroup: .singletonMultiThreadedEventLoopGroup, configuration: configuration)
    }

    package func receive(
        _ request: ServiceRequest,
        _ consume: (ByteBuffer) async throws -> Void
    ) async throws -> ServiceResponse {
        let response = try await begin(request, Self.streams)
        guard (200..<300).contains(response.status.code) else { return try await collected(response) }
        var bytes = response.body.makeAsyncIterator()
        while let piece = try await next(&bytes) { try await consume(piece) }
        return ServiceResponse(status: Int(response.status.code), headers: HTTPFields(response: response.headers))
    }

    private func next(_ bytes: inout HTTPClientResponse.Body.AsyncIterator) async throws -> ByteBuffer? {
        do {
            return try await bytes.next()
        } catch {
            throw Self.failure(error)
        }
    }

    package func send(_ request: ServiceRequest) async throws -> ServiceResponse {
        try await collected(try await begin(request, client))
    }

    /// Sends a request and waits for the head of the response.
    ///
    /// If no instance accepts a connection, the instances are tried in turn until the timeout, because a service that
    /// restarts is soon available again.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - client: the HTTP client.
    /// - Returns: the response.
    /// - Throws: a ``TransportFailure``, or `CancellationError`.
    private func begin(_ request: ServiceRequest, _ client: HTTPClient) async throws -> HTTPClientResponse {
        let deadline = ContinuousClock.now + request.timeout
        let first = Int.random(in: baseURLs.indices)
        var pause = Duration.milliseconds(20)
        for attempt in 0... {
            let baseURL = baseURLs[(first + attempt) % baseURLs.count]
            do {
                return try await client.execute(outgoing(request, to: baseURL), timeout: TimeAmount(deadline - .now))
            } catch {
                let failure = Self.failure(error)
                guard failure as? TransportFailure == .notSent, .now + pause < deadline else { throw failure }
            }
            // The next instance is tried immediately; the pause follows after all were tried.
            guard attempt % baseURLs.count == baseURLs.count - 1 else { continue }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(400))
        }
        throw TransportFailure.notSent  // Unreachable: the loop ends only by returning or throwing.
    }

    private func outgoing(_ request: ServiceRequest, to baseURL: String) -> HTTPClientRequest {
        var outgoing = HTTPClientRequest(url: baseURL + request.path)
        outgoing.method = HTTPMethod(rawValue: request.method.rawValue)
        for field in request.headers { outgoing.headers.add(name: field.name.rawName, value: field.value) }
        if let body = request.body { outgoing.body = .bytes(ByteBuffer(bytes: body)) }
        return outgoing
    }

    private func collected(_ response: HTTPClientResponse) async throws -> ServiceResponse {
        do {
            let body = try await response.body.collect(upTo: maximumBody)
            return ServiceResponse(
                status: Int(response.status.code),
                headers: HTTPFields(response: response.headers),
                body: Data(body.readableBytesView)
            )
        } catch {
            throw Self.failure(error)
        }
    }

    private static func failure(_ error: any Error) -> any Error {
        switch error {
        case is CancellationError: error
        case let error as HTTPClientError where error == .connectTimeout: TransportFailure.notSent
        case is NIOConnectionError: TransportFailure.notSent
        // This error occurs for numeric addresses, and only while connecting.
        case let error as IOError where error.errnoCode == ECONNREFUSED: TransportFailure.notSent
        default: TransportFailure.unanswered
        }
    }
}

extension HTTPFields {
    fileprivate init(response headers: HTTPHeaders) {
        self.init()
        for (name, value) in headers {
            if let name = HTTPField.Name(name) { append(HTTPField(name: name, value: value)) }
        }
    }
}
