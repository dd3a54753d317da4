import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceHost
import Wire

/// Serves `GET /auth/me/export`.
struct ExportRoutes {
    let exports: AccountExports
    let clientInfo: ClientInfoReader

    func add(to routes: SuiteRoutes) {
        routes.user.get("auth/me/export", use: export)
    }

    func export(request: Request, context: UserContext) async throws -> Response {
        let user = context.user
        let slot = try await exports.begin(user, from: clientInfo.caller(of: request, at: context.remoteAddress))
        let body = ResponseBody { [exports] writer in
            let output = Output(writer)
            try await exports.write(user) { try await output.writer.write($0) }
            try await output.writer.finish(nil)
            // Holds the export slot until the last byte was written.
            withExtendedLifetime(slot) {}
        }
        return Response(status: .ok, headers: Self.headers, body: body)
    }

    private static let headers: HTTPFields = [
        .contentType: "application/zip", .contentDisposition: #"attachment; filename="roost-export.zip""#,
        .cacheControl: "no-store",
    ]

    /// Holds the response's writer for an escaping closure, because an `inout` parameter cannot be captured.
    private final class Output {
        var writer: any ResponseBodyWriter

        init(_ writer: any ResponseBodyWriter) {
            self.writer = writer
        }
    }
}
