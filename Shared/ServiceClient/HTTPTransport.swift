package import AsyncHTTPClient
import Foundation
import HTTPTypes
import NIOCore
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

    package func send(_ request: ServiceRequest) async throws -> ServiceResponse {
        let baseURL = baseURLs.count == 1 ? baseURLs[0] : baseURLs[Int.random(in: baseURLs.indices)]
        var outgoing = HTTPClientRequest(url: baseURL + request.path)
        outgoing.method = HTTPMethod(rawValue: request.method.rawValue)
        for field in request.headers { outgoing.headers.add(name: field.name.rawName, value: field.value) }
        if let body = request.body { outgoing.body = .bytes(ByteBuffer(bytes: body)) }
        do {
            let timeout = TimeAmount(request.timeout)
            let response = try await client.execute(outgoing, timeout: timeout)
            let body = try await response.body.collect(upTo: maximumBody)
            var headers = HTTPFields()
            for (name, value) in response.headers {
                if let name = HTTPField.Name(name) { headers.append(HTTPField(name: name, value: value)) }
            }
            return ServiceResponse(
                status: Int(response.status.code),
                headers: headers,
                body: Data(body.readableBytesView)
            )
        } catch is CancellationError {
            throw CancellationError()
        } catch let error as HTTPClientError where error == .connectTimeout {
            throw TransportFailure.notSent
        } catch is NIOConnectionError {
            throw TransportFailure.notSent
        } catch {
            throw TransportFailure.unanswered
        }
    }
}
