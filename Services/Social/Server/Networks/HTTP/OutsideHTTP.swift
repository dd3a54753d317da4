import AsyncHTTPClient
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOPosix
import NetworkGuard
import ServiceHost

/// HTTP to networks over async-http-client.
struct OutsideHTTP: NetworkHTTP {
    enum Reach: Sendable {
        /// The origins that the operator has configured, wherever they are.
        case listed(Set<HTTPOrigin>)
        /// The hosts that users name: public hosts over https, and those that the operator allows.
        case userSupplied(AddressGuard)
    }

    /// The size of a request body in bytes above which the timeout is longer.
    private static let largeBody = 1_048_576
    /// The maximum size in bytes of a response from a host that a user named.
    private static let maximumUserSuppliedBody = 1_048_576

    let reach: Reach
    let connections: OutboundConnections

    func mayConnect(_ url: String) -> Bool { HTTPOrigin(url).map(mayConnect) ?? false }

    private func mayConnect(_ origin: HTTPOrigin) -> Bool {
        switch reach {
        case .listed(let origins): origins.contains(origin)
        case .userSupplied(let hosts): hosts.mayConnect(origin)
        }
    }

    func send(_ request: NetworkRequest) async throws -> NetworkResponse {
        let limit = request.timeout ?? Self.timeout(of: request)
        return try await Self.mappingErrors {
            try await within(limit) {
                let response = try await execute(request, limit)
                let body = try await response.body.collect(upTo: maximumBody(of: request))
                return NetworkResponse(
                    status: Int(response.status.code),
                    headers: Self.fields(response.headers),
                    body: body
                )
            }
        }
    }

    func open(_ request: NetworkRequest) async throws -> NetworkStream {
        let limit = request.timeout ?? Self.timeout(of: request)
        let response = try await Self.mappingErrors { try await within(limit) { try await execute(request, limit) } }
        return NetworkStream(
            status: Int(response.status.code),
            headers: Self.fields(response.headers),
            body: PulledSequence(response.body)
        )
    }

    private func execute(_ request: NetworkRequest, _ limit: Duration) async throws -> HTTPClientResponse {
        guard mayConnect(request.url) else { throw NetworkHTTPFailure.notSent("this address is not allowed") }
        var outgoing = HTTPClientRequest(url: request.url)
        outgoing.method = HTTPMethod(rawValue: request.method.rawValue)
        for field in request.headers { outgoing.headers.add(name: field.name.rawName, value: field.value) }
        if let body = request.body { outgoing.body = .bytes(body) }
        let deadline = NIODeadline.now() + TimeAmount(limit)
        do {
            return try await execute(outgoing, deadline)
        } catch let error as HTTPClientError where error == .remoteConnectionClosed && request.method.isSafe {
            // The server has just closed an idle connection; a request that only reads can be sent again.
            return try await execute(outgoing, deadline)
        }
    }

    private func execute(_ request: HTTPClientRequest, _ deadline: NIODeadline) async throws -> HTTPClientResponse {
        switch reach {
        case .listed: try await connections.open.execute(request, deadline: deadline)
        case .userSupplied(let hosts):
            try await connections.execute(request, guardedBy: hosts, deadline: deadline)
        }
    }

    private func maximumBody(of request: NetworkRequest) -> Int {
        switch reach {
        case .listed: request.maximumBody
        case .userSupplied: min(request.maximumBody, Self.maximumUserSuppliedBody)
        }
    }

    /// Converts errors to `NetworkHTTPFailure`, without URLs, which may contain tokens.
    private static func mappingErrors<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let failure as NetworkHTTPFailure {
            throw failure
        } catch let failure as OutboundConnectionError {
            throw NetworkHTTPFailure.notSent(failure.reason)
        } catch is DeadlineExceeded {
            throw NetworkHTTPFailure.noAnswer("the network did not respond in time")
        } catch is NIOTooManyBytesError {
            throw NetworkHTTPFailure.tooLarge
        } catch let error as HTTPClientError {
            switch error {
            case .connectTimeout, .tlsHandshakeTimeout: throw NetworkHTTPFailure.notSent("no connection in time")
            case .cancelled: throw CancellationError()
            case .deadlineExceeded, .readTimeout:
                throw NetworkHTTPFailure.noAnswer("the network did not respond in time")
            default: throw NetworkHTTPFailure.noAnswer("the connection ended before the response was complete")
            }
        } catch is NIOConnectionError {
            throw NetworkHTTPFailure.notSent("no connection")
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw NetworkHTTPFailure.noAnswer("the connection ended before the response was complete")
        }
    }

    private static func timeout(of request: NetworkRequest) -> Duration {
        (request.body?.readableBytes ?? 0) > largeBody ? .seconds(60) : .seconds(10)
    }

    private static func fields(_ headers: HTTPHeaders) -> HTTPFields {
        var fields = HTTPFields()
        for (name, value) in headers {
            if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
        }
        return fields
    }
}

extension HTTPRequest.Method {
    /// Whether the method has no side effects (RFC 9110, section 9.2.1).
    var isSafe: Bool { [.get, .head, .options].contains(self) }
}
