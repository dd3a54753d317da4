import Foundation
import HTTPTypes
import Hummingbird
package import Logging
package import NIOCore
import NIOEmbedded
package import ServiceClient
package import ServiceHost

/// A transport directly to a service's router, with all middleware but without a port or server.
package struct InProcessTransport: Transport {
    private let responder: RouterResponder<SuiteContext>
    private let logger: Logger

    package init(_ service: AssembledService, logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    {
        responder = service.responder
        self.logger = logger
    }

    package func send(_ request: ServiceRequest) async throws -> ServiceResponse {
        var request = request
        if let body = request.body, request.headers[.contentLength] == nil {
            request.headers[.contentLength] = "\(body.count)"
        }
        return try await send(request, RequestBody(buffer: ByteBuffer(bytes: request.body ?? Data())))
    }

    /// Sends a request whose body is a sequence of buffers, each produced on demand.
    package func send<Body: AsyncSequence & Sendable>(
        _ request: ServiceRequest,
        streaming body: Body
    ) async throws -> ServiceResponse where Body.Element == ByteBuffer, Body.AsyncIterator: SendableMetatype {
        try await send(request, RequestBody(asyncSequence: body))
    }

    private func send(_ request: ServiceRequest, _ body: RequestBody) async throws -> ServiceResponse {
        let incoming = Request(
            head: HTTPRequest(
                method: request.method,
                scheme: "http",
                authority: "localhost",
                path: request.path,
                headerFields: request.headers
            ),
            body: body
        )
        let channel = NIOAsyncTestingChannel()
        let context = SuiteContext(source: ApplicationRequestContextSource(channel: channel, logger: logger))
        let response = try await responder.respond(to: incoming, context: context)
        let collector = BodyCollector()
        try await response.body.write(collector)
        return ServiceResponse(status: response.status.code, headers: response.headers, body: collector.data)
    }
}

private final class BodyCollector: ResponseBodyWriter {
    var data = Data()

    func write(_ buffer: ByteBuffer) async throws { data.append(contentsOf: buffer.readableBytesView) }
    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
