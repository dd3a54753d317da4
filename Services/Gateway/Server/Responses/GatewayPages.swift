import Credentials
import Crypto
import GatewayDocuments
import NIOCore
import NIOHTTP1
import Wire

struct GatewayPages: Sendable {
    enum Result: Sendable {
        case now(GatewayResponse)
        case later(@Sendable () async throws -> GatewayResponse)
    }

    private struct State: Encodable {
        let status: String
    }

    private let credentials: CredentialVerifier
    private var reporter: StatusReporter
    private let document: StaticPage
    private let docs: StaticPage
    private let socketEvents: StaticPage

    init(
        document: OpenAPIDocument,
        clusters: [UpstreamCluster],
        credentials: CredentialVerifier,
        isCompressed: Bool
    ) {
        self.credentials = credentials
        reporter = StatusReporter(clusters: clusters)
        self.document = StaticPage(text: document.text, contentType: "application/yaml", isCompressed: isCompressed)
        docs = DocsPage(document: document, isCompressed: isCompressed).page
        socketEvents = MarkdownPage(gateway_socket_events().text, isCompressed: isCompressed).page
    }

    func replacingClusters(_ clusters: [UpstreamCluster]) -> GatewayPages {
        var pages = self
        pages.reporter = StatusReporter(clusters: clusters)
        return pages
    }

    func response(_ page: GatewayPage, to head: HTTPRequestHead, isDraining: Bool) -> Result {
        switch page {
        case .health: .now(.json(.ok, State(status: "ok")))
        case .ready: .now(ready(isDraining: isDraining))
        case .status: .later { [reporter] in .json(.ok, await reporter.read()) }
        case .openAPI: .now(document.response(to: head))
        case .docs: .now(docs.response(to: head))
        case .socketEvents: .now(socketEvents.response(to: head))
        }
    }

    /// Returns ready when the gateway can verify credentials and does not stop.
    private func ready(isDraining: Bool) -> GatewayResponse {
        guard credentials.isLoaded, !isDraining else {
            var response = GatewayResponse.json(
                .serviceUnavailable,
                State(status: isDraining ? "stopping" : "starting")
            )
            response.fields.append(("retry-after", "1"))
            return response
        }
        return .json(.ok, State(status: "ready"))
    }
}

/// A page rendered at startup, with an ETag for revalidation.
struct StaticPage: Sendable {
    private let body: ByteBuffer
    /// The page as gzip; nil when compression is disabled or the page is small.
    private let compressed: ByteBuffer?
    private let etag: String
    private let fields: [(String, String)]

    init(text: String, contentType: String, isCompressed: Bool, extra: [(String, String)] = []) {
        body = ByteBuffer(string: text)
        compressed = isCompressed && body.readableBytes >= Compression.minimumSize ? body.gzipped() : nil
        etag = "\"\(Base64URL.encode(Array(SHA256.hash(data: Array(text.utf8)).prefix(12))))\""
        fields =
            [
                ("content-type", contentType), ("etag", etag), ("cache-control", "no-cache"),
                ("x-content-type-options", "nosniff"),
            ]
            + (compressed == nil ? [] : [("vary", "accept-encoding")]) + extra
    }

    func response(to head: HTTPRequestHead) -> GatewayResponse {
        let tags = head.headers[canonicalForm: "if-none-match"]
        if tags.contains(where: { $0 == etag[...] || $0 == "*" || $0.hasPrefix("W/") && $0.dropFirst(2) == etag[...] })
        {
            return GatewayResponse(.notModified, fields: fields)
        }
        guard let compressed, head.headers["accept-encoding"].contains(where: FieldValue.acceptsGzip) else {
            return GatewayResponse(.ok, fields: fields, body: body)
        }
        var changed = fields
        Compression.apply(to: &changed)
        return GatewayResponse(.ok, fields: changed, body: compressed)
    }
}
