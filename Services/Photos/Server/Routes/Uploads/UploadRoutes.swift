import Hummingbird
import PhotosAPI
import ServiceHost
import Tus
import Wire

/// Serves `/photos/uploads`: images in one request, or in chunks by the tus protocol.
struct UploadRoutes {
    let uploads: Uploads

    func add(to routes: SuiteRoutes) {
        routes.user.post("photos/uploads", use: create)
        routes.user.get("photos/uploads/:id", use: show)
        let pieces = TusRoutes(
            store: ResumableUploads(uploads: uploads),
            path: "/photos/uploads/tus",
            maximumSize: uploads.limits.bytes,
            owner: { (context: UserContext) in context.user },
            describe: { error, context in APIError(upload: error)?.problem(requestID: context.requestID) }
        )
        pieces.add(to: routes.user)
        pieces.addDiscovery(to: routes.open)
    }

    func create(request: Request, context: UserContext) async throws -> JSONResponse<Upload> {
        let reader = try ImageReader(request, limit: uploads.limits.bytes)
        return JSONResponse(try await uploads.create(from: context.user) { try await reader.read(into: $0) })
    }

    func show(request: Request, context: UserContext) async throws -> JSONResponse<Upload> {
        JSONResponse(try await uploads.show(context.path("id"), to: context.user))
    }
}

extension APIError {
    /// Maps an error of a resumable upload; nil for an unexpected error.
    fileprivate init?(upload error: any Error) {
        guard let error = error as? TusError else {
            self.init(known: error)
            return
        }
        let kind = Kind(rawValue: error.status.code) ?? .invalid
        guard case .invalid(let header, _) = error else {
            self.init(kind, error.code, error.message)
            return
        }
        self.init(kind, error.code, error.message, field: header)
    }
}
