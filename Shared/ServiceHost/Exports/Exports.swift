import HTTPTypes
import Hummingbird
import NIOCore
package import ServiceClient
package import Wire

/// The export of a user's data at `GET /internal/export`, from which auth builds one archive of all services.
package struct Exports: Sendable {
    /// Writes all data of a user.
    package typealias Fill = @Sendable (User.ID, inout ExportWriter) async throws -> Void

    private let fill: Fill

    package init(_ fill: @escaping Fill) {
        self.fill = fill
    }

    package func add(to routes: SuiteRoutes) {
        routes.internalRoutes(from: [.auth]).get("export", use: export)
    }

    /// Exports without an HTTP request, for the service that builds the archive.
    package func export(
        of user: User.ID,
        _ consume: @escaping (ExportReader.Part) async throws -> Void
    ) async throws {
        var export = ExportWriter(ExportPartWriter(consume))
        try await fill(user, &export)
        try await export.end()
    }

    private func export(request: Request, context: InternalContext) async throws -> Response {
        guard let application = try request.query("applicationId") else { throw APIError.missing("applicationId") }
        guard let user = try request.query("userId") else { throw APIError.missing("userId") }
        let body = ResponseBody { [fill] writer in
            var export = ExportWriter(writer)
            try await fill(User.ID(application: application, user: user), &export)
            try await export.end()
        }
        return Response(status: .ok, headers: [.contentType: "application/octet-stream"], body: body)
    }
}

/// A response writer that parses the written frames and passes their parts on.
private final class ExportPartWriter: ResponseBodyWriter {
    private var reader = ExportReader()
    private let consume: (ExportReader.Part) async throws -> Void

    init(_ consume: @escaping (ExportReader.Part) async throws -> Void) {
        self.consume = consume
    }

    func write(_ buffer: ByteBuffer) async throws {
        for part in try reader.take(buffer) { try await consume(part) }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
}

extension ServiceClient {
    /// Requests this service's data of a user and passes it on part by part.
    ///
    /// - Parameters:
    ///   - user: the user.
    ///   - consume: receives the parts in order.
    /// - Throws: the error of `consume`, or `unavailable` if the service is unavailable or the export ends without its
    ///   end frame.
    package func export(of user: User.ID, _ consume: (ExportReader.Part) async throws -> Void) async throws {
        var reader = ExportReader()
        let query = [("applicationId", user.application), ("userId", user.user)]
        try await receive("/internal/export", query: query) { bytes in
            for part in try reader.take(bytes) { try await consume(part) }
        }
        guard reader.isWhole else { throw APIError.unavailable("the service \(callee)") }
    }
}
