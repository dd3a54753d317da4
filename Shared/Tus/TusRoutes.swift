import Foundation
import HTTPTypes
public import Hummingbird
import NIOCore

/// The HTTP routes of tus 1.0 for resumable uploads (https://tus.io/protocols/resumable-upload).
///
/// ```swift
/// let uploads = TusRoutes(store: store, path: "/files", maximumSize: 20 << 20) { (context: AppContext) in
///     context.user
/// }
/// uploads.add(to: router.group(context: AppContext.self))
/// uploads.addDiscovery(to: router)
/// ```
///
/// They support the core protocol and the extensions creation, creation-with-upload, expiration, checksum and
/// termination.
public struct TusRoutes<Store: TusStore, Context: RequestContext>: Sendable {
    private let store: Store
    private let path: String
    private let maximumSize: Int64
    private let owner: @Sendable (Context) async throws -> Store.Owner
    private let describe: @Sendable (any Error, Context) -> Response?

    /// Creates the routes.
    ///
    /// - Parameters:
    ///   - store: Stores the uploads.
    ///   - path: The path at which uploads are created, without a slash at the end. An upload's URL has one more
    ///     segment.
    ///   - maximumSize: The largest upload in bytes.
    ///   - owner: Returns the owner of the uploads in a request, usually the user.
    ///   - describe: Returns the response to an error, or nil to rethrow it. The default handles ``TusError`` only. The
    ///     protocol's headers are added to the response.
    public init(
        store: Store,
        path: String,
        maximumSize: Int64,
        owner: @escaping @Sendable (Context) async throws -> Store.Owner,
        describe: @escaping @Sendable (any Error, Context) -> Response? = { error, _ in (error as? TusError)?.response }
    ) {
        self.store = store
        self.path = path
        self.maximumSize = maximumSize
        self.owner = owner
        self.describe = describe
    }

    /// Adds the routes of uploads: POST, HEAD, PATCH and DELETE.
    public func add(to router: some RouterMethods<Context>) {
        let (collection, item) = (RouterPath(path), RouterPath("\(path)/:id"))
        router.on(collection, method: .post) { try await respond($0, $1, create) }
        router.on(item, method: .head) { try await respond($0, $1, show) }
        router.on(item, method: .patch) { try await respond($0, $1, append) }
        router.on(item, method: .delete) { try await respond($0, $1, remove) }
        // For clients that can send only GET and POST.
        router.on(item, method: .post) { try await respond($0, $1, override) }
    }

    /// Adds the OPTIONS routes, which describe the supported protocol and need no authentication.
    public func addDiscovery<Open: RequestContext>(to router: some RouterMethods<Open>) {
        for path in [path, "\(path)/:id"] {
            router.on(RouterPath(path), method: .options) { _, _ in Response(status: .noContent, headers: discovery) }
        }
    }

    private func create(_ request: Request, _ context: Context) async throws -> Response {
        let creation = try creation(request)
        let isPiece = try hasPiece(request, limit: creation.length)
        let checksum = try request.headers[.uploadChecksum].map { try TusChecksum($0) }
        let owner = try await owner(context)
        var upload = try await store.create(creation, by: owner)
        if isPiece {
            do {
                upload = try await store.append(body(of: request, checksum, for: upload), to: upload, of: owner)
            } catch {
                // The client never learns the upload's URL. If the removal fails, the upload expires.
                try? await store.remove(upload.id, of: owner)
                throw error
            }
        }
        var headers = progress(upload)
        headers[.location] = "\(path)/\(upload.id)"
        return Response(status: .created, headers: headers)
    }

    private func show(_ request: Request, _ context: Context) async throws -> Response {
        let upload = try await store.find(id(context), of: owner(context))
        var headers = progress(upload)
        headers[.uploadLength] = "\(upload.length)"
        headers[.cacheControl] = "no-store"
        if !upload.metadata.text.isEmpty { headers[.uploadMetadata] = upload.metadata.text }
        return Response(status: .ok, headers: headers)
    }

    private func append(_ request: Request, _ context: Context) async throws -> Response {
        guard request.hasUploadType else { throw TusError.unsupportedMediaType }
        guard let offset = try request.number(.uploadOffset) else {
            throw TusError.invalid(header: "Upload-Offset", "is missing")
        }
        let checksum = try request.headers[.uploadChecksum].map { try TusChecksum($0) }
        let owner = try await owner(context)
        var upload = try await store.find(id(context), of: owner)
        guard offset == upload.offset else { throw TusError.wrongOffset(is: upload.offset) }
        guard try request.number(.contentLength) ?? 0 <= upload.length - upload.offset else {
            throw TusError.tooLarge(limit: upload.length)
        }
        upload = try await store.append(body(of: request, checksum, for: upload), to: upload, of: owner)
        return Response(status: .noContent, headers: progress(upload))
    }

    private func remove(_ request: Request, _ context: Context) async throws -> Response {
        try await store.remove(id(context), of: owner(context))
        return Response(status: .noContent)
    }

    private func override(_ request: Request, _ context: Context) async throws -> Response {
        switch request.headers[.methodOverride] {
        case "HEAD": try await show(request, context)
        case "PATCH": try await append(request, context)
        case "DELETE": try await remove(request, context)
        default: throw TusError.methodNotAllowed
        }
    }
}

extension TusRoutes {
    /// Runs an action.
    ///
    /// Every response has the protocol version; the error for an unsupported one lists the supported version.
    private func respond(
        _ request: Request,
        _ context: Context,
        _ act: (Request, Context) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            guard request.headers[.tusResumable] == TusHeaders.version else { throw TusError.unsupportedVersion }
            response = try await act(request, context)
        } catch {
            guard let described = describe(error, context) else { throw error }
            response = described
            if error as? TusError == .unsupportedVersion { response.headers[.tusVersion] = TusHeaders.version }
        }
        response.headers[.tusResumable] = TusHeaders.version
        return response
    }

    private var discovery: HTTPFields {
        [
            .tusResumable: TusHeaders.version, .tusVersion: TusHeaders.version,
            .tusExtension: TusHeaders.extensions, .tusMaxSize: "\(maximumSize)",
            .tusChecksumAlgorithm: TusChecksum.algorithms,
        ]
    }

    private func creation(_ request: Request) throws -> TusCreation {
        guard let length = try request.number(.uploadLength) else {
            throw TusError.invalid(header: "Upload-Length", "is missing; the length must be known at creation")
        }
        guard length <= maximumSize else { throw TusError.tooLarge(limit: maximumSize) }
        guard let text = request.headers[.uploadMetadata] else { return TusCreation(length: length) }
        guard let metadata = TusMetadata(text) else {
            throw TusError.invalid(
                header: "Upload-Metadata",
                "must be comma-separated pairs of a key and a value in base64"
            )
        }
        return TusCreation(length: length, metadata: metadata)
    }

    /// Returns whether the request has the first piece as its body.
    private func hasPiece(_ request: Request, limit: Int64) throws -> Bool {
        let length = try request.number(.contentLength)
        guard request.headers[.contentType] != nil || length ?? 0 > 0 else { return false }
        guard request.hasUploadType else {
            // Many clients send a Content-Type without a body.
            guard length ?? 0 == 0 else { throw TusError.unsupportedMediaType }
            return false
        }
        guard length ?? 0 <= limit else { throw TusError.tooLarge(limit: limit) }
        return length != 0
    }

    private func body(of request: Request, _ checksum: TusChecksum?, for upload: TusUpload) throws -> TusBody {
        TusBody(
            bytes: request.body,
            announced: try request.number(.contentLength),
            remaining: upload.length - upload.offset,
            limit: upload.length,
            checksum: checksum
        )
    }

    private func progress(_ upload: TusUpload) -> HTTPFields {
        var headers: HTTPFields = [.uploadOffset: "\(upload.offset)"]
        if let expires = upload.expires { headers[.uploadExpires] = TusHeaders.httpDate(expires) }
        return headers
    }

    private func id(_ context: Context) throws -> String {
        guard let id = context.parameters.get("id") else { throw TusError.notFound }
        return id
    }
}

extension Request {
    /// Parses a header of decimal digits; nil if the header is missing.
    fileprivate func number(_ name: HTTPField.Name) throws -> Int64? {
        guard let text = headers[name] else { return nil }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(text) else {
            throw TusError.invalid(header: name.rawName, "must be a whole number")
        }
        return number
    }

    /// Whether the body has tus's media type, or the general type that generated clients send.
    ///
    /// Parameters of the type are ignored.
    fileprivate var hasUploadType: Bool {
        let type = headers[.contentType]?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
        return type == TusHeaders.mediaType || type == "application/octet-stream"
    }
}

extension TusError {
    /// The response to the error, a problem document (RFC 9457).
    public var response: Response {
        let problem: [String: String] = [
            "type": "about:blank", "title": status.reasonPhrase, "detail": message, "code": code,
        ]
        // Encoding strings cannot fail.
        let body = (try? JSONEncoder().encode(problem)) ?? Data("{}".utf8)
        return Response(
            status: status,
            headers: [.contentType: "application/problem+json", .contentLength: "\(body.count)"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body))
        )
    }
}
