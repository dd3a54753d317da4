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
    package init(baseURLs: [String], client: HTTPClient = .shared) {
        precondition(!baseURLs.isEmpty, "a neighbour has at least one instance")
        self.client = client
        self.baseURLs = baseURLs.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
    }

    /// The connections of answers that come piece by piece, for as long as the process lasts.
    ///
    /// One that says nothing for a minute is given up.
    private static let streams: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        configuration.timeout.connect = .seconds(5)
        configuration.timeout.read = .seconds(60)
        return HTTPClient(eventLoopGroup: .singletonMultiThreadedEventLoopGroup, configuration: configuration)
    }()

    package func receive(
        _ request: ServiceRequest,
        _ consume: (ByteBuffer) async throws -> Void
    ) async throws -> ServiceResponse {
        let response = try await begin(request, Self.streams)
        guard (200..<300).contains(response.status.code) else { return try await collected(response) }
        var bytes = response.body.makeAsyncIterator()
        while let piece = try await next(&bytes) { try await consume(piece) }
        return ServiceResponse(status: Int(response.status.code), headers: HTTPFields(answer: response.headers))
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
    private func begin(_ request: ServiceRequest, _ client: HTTPClient) async throws -> HTTPClientResponse {
        do {
            return try await client.execute(outgoing(request), timeout: TimeAmount(request.timeout))
        } catch {
            throw Self.failure(error)
        }
    }

    private func outgoing(_ request: ServiceRequest) -> HTTPClientRequest {
        let baseURL = baseURLs.count == 1 ? baseURLs[0] : baseURLs[Int.random(in: baseURLs.indices)]
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
                headers: HTTPFields(answer: response.headers),
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
        default: TransportFailure.unanswered
        }
    }
}

extension HTTPFields {
    fileprivate init(answer headers: HTTPHeaders) {
        self.init()
        for (name, value) in headers {
            if let name = HTTPField.Name(name) { append(HTTPField(name: name, value: value)) }
        }
    }
}
