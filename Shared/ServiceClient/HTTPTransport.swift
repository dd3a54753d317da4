package import AsyncHTTPClient
import Foundation
import HTTPTypes
package import NIOCore
import NIOHTTP1
import NIOPosix

/// Reaches a neighbour over HTTP, taking its instances in turn.
package struct HTTPTransport: Transport {
    private let client: HTTPClient
    private let baseURLs: [String]
    /// The most of an answer that is read, in bytes.
    private let maximumBody = 8 * 1_024 * 1_024

    /// - Parameters:
    ///   - baseURLs: where the neighbour's instances are, without a path; at least one.
    ///   - client: the connections.
    package init(baseURLs: [String], client: HTTPClient = HTTPTransport.calls) {
        precondition(!baseURLs.isEmpty, "a neighbour has at least one instance")
        self.client = client
        self.baseURLs = baseURLs.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
    }

    /// The connections of all calls, for as long as the process lasts.
    package static let calls = connections(within: .seconds(2))
    /// Those of answers that come piece by piece.
    private static let streams = connections(within: .seconds(5))

    /// One that says nothing for a minute is given up.
    private static func connections(within timeout: TimeAmount) -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        configuration.timeout.connect = timeout
        configuration.timeout.read = .seconds(60)
        // The client's own attempts would be at the one instance that is away, and ever rarer: for up to a minute after
        // it is back nobody would notice.
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

    /// Sends a request, and waits until its answer begins.
    ///
    /// While no instance takes the connection they are tried in turn, as long as there is time: a neighbour that is started
    /// anew is there again in a moment.
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
            // Another instance is asked at once.
            guard attempt % baseURLs.count == baseURLs.count - 1 else { continue }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(400))
        }
        throw TransportFailure.notSent  // The loop above only ends by returning or throwing.
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
        // Of an address that is no name; on a connection that was made it does not come.
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
