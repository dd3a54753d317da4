import ChildProcesses
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Synchronization
import TestSupport
import Testing
import Tus

@Suite("Tus uploads") struct TusTests {
    @Test("The reference client's uploads arrive complete", arguments: [100, 3_000_000])
    func referenceClient(size: Int) async throws {
        let store = MemoryUploads()
        try await app(store).test(.live) { client async throws in
            let port = try #require(client.port)
            var environment = ProcessInfo.processInfo.environment
            environment["HEADER_X_USER"] = "ana"
            environment["DISCOVERY"] = "1"
            let result = try await ProcessCommand(
                try await PythonPrograms.path("tus"),
                ["\(PythonPrograms.scripts)/tus-journey.py", "http://127.0.0.1:\(port)/files", "\(size)"],
                environment: environment
            ).run(within: .seconds(120))

            #expect(result.status.isSuccess, "\(result.output)")
            let lines = result.output.split(separator: "\n").map { $0.split(separator: " ") }.filter { $0.count == 3 }
            #expect(lines.count == 8, "\(result.output)")
            for line in lines {
                let kept = store.all.first { line[1].hasSuffix("/\($0.upload.id)") }
                let bytes = try #require(kept).bytes
                let hash = SHA256.hash(data: bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
                #expect(hash == line[2], "\(line[0])")
            }
            #expect(store.all.count == 8)
            #expect(store.all.contains { $0.upload.metadata["filename"] == "kitten.jpg" })
        }
    }

    @Test("An upload keeps its metadata, length, offset and expiry")
    func metadataRoundTrip() async throws {
        let said = "filename d29ybGQucG5n,is_private"
        try await app(MemoryUploads()).test(.router) { client async throws in
            let path = try await client.begin(100, [.uploadMetadata: said])
            let answer = try await client.ask(path, .head)
            #expect(answer.status == .ok)
            #expect(answer.headers[.uploadMetadata] == said)
            #expect(answer.headers[.uploadLength] == "100")
            #expect(answer.headers[.uploadOffset] == "0")
            #expect(answer.headers[.uploadExpires]?.hasSuffix(" GMT") == true)
        }
    }

    @Test(
        "Malformed metadata is rejected; a key without a value and an empty header are valid",
        arguments: ["a", "", "a b", "a YQ==,", "a YQ== c", "a YQ==,a Yg==", " ", "ä YQ=="]
    )
    func malformedMetadata(said: String) async throws {
        // Only a single key and empty headers are valid here.
        try await app(MemoryUploads()).test(.router) { client async throws in
            let answer = try await client.ask("/files", .post, [.uploadLength: "1", .uploadMetadata: said])
            #expect(answer.status == (["a", "", " "].contains(said) ? .created : .badRequest))
        }
    }

    @Test("The expiry is an HTTP date")
    func expiryDate() async throws {
        let store = MemoryUploads { Date(timeIntervalSince1970: 784_111_777 - 3_600) }
        try await app(store).test(.router) { client async throws in
            let answer = try await client.ask("/files", .post, [.uploadLength: "1"])
            #expect(answer.headers[.uploadExpires] == "Sun, 06 Nov 1994 08:49:37 GMT")
        }
    }

    @Test("An expired upload responds 410")
    func expiredUpload() async throws {
        let time = Mutex(Date())
        let store = MemoryUploads { time.withLock { $0 } }
        try await app(store).test(.router) { client async throws in
            let path = try await client.begin(3)
            time.withLock { $0 += 3_601 }
            #expect(try await client.ask(path, .head).status == .gone)
            #expect(try await client.ask(path, .patch, .piece(at: 0), "abc").status == .gone)
            #expect(try await client.ask(path, .delete).status == .gone)
        }
    }

    @Test("An upload of another user responds 404")
    func otherUsersUpload() async throws {
        try await app(MemoryUploads()).test(.router) { client async throws in
            let path = try await client.begin(3)
            for method in [HTTPRequest.Method.head, .delete] {
                #expect(try await client.ask(path, method, user: "eve").status == .notFound)
            }
            #expect(try await client.ask(path, .patch, .piece(at: 0), "abc", user: "eve").status == .notFound)
            #expect(try await client.ask(path, .patch, .piece(at: 0), "abc").status == .noContent)
        }
    }

    @Test("An unsupported protocol version responds 412 and creates nothing", arguments: [nil, "0.2.2", "1.0.0.0", ""])
    func unsupportedVersion(version: String?) async throws {
        let store = MemoryUploads()
        try await app(store).test(.router) { client async throws in
            var headers: HTTPFields = [.user: "ana", .uploadLength: "1"]
            headers[.tusResumable] = version
            try await client.execute(uri: "/files", method: .post, headers: headers) { answer in
                #expect(answer.status == .preconditionFailed)
                #expect(answer.headers[.tusVersion] == "1.0.0")
            }
            #expect(store.all.isEmpty)
        }
    }

    @Test("A rejected creation with content stores nothing")
    func rejectedCreation() async throws {
        let store = MemoryUploads()
        try await app(store).test(.router) { client async throws in
            var headers = HTTPFields.piece(at: nil)
            headers[.uploadLength] = "3"
            #expect(try await client.ask("/files", .post, headers, "abcd").status == .contentTooLarge)
            headers[.uploadChecksum] = "sha1 \(Data(Insecure.SHA1.hash(data: Data("abd".utf8))).base64EncodedString())"
            #expect(try await client.ask("/files", .post, headers, "abc").status.code == 460)
            headers[.uploadChecksum] = "md4 YQ=="
            #expect(try await client.ask("/files", .post, headers, "abc").status == .badRequest)
            headers[.contentType] = "image/png"
            #expect(try await client.ask("/files", .post, headers, "abc").status == .unsupportedMediaType)
            #expect(store.all.isEmpty)
            headers[.contentType] = "application/octet-stream"
            headers[.uploadChecksum] = nil
            #expect(try await client.ask("/files", .post, headers, "abc").status == .created)
        }
    }

    @Test(
        "A wrong checksum of every offered algorithm responds 460 and stores nothing",
        arguments: ["sha1", "sha256", "sha512", "md5"]
    )
    func checksum(algorithm: String) async throws {
        @Sendable func digest(_ text: String) -> String {
            let data = Data(text.utf8)
            return switch algorithm {
            case "sha1": Data(Insecure.SHA1.hash(data: data)).base64EncodedString()
            case "sha256": Data(SHA256.hash(data: data)).base64EncodedString()
            case "sha512": Data(SHA512.hash(data: data)).base64EncodedString()
            default: Data(Insecure.MD5.hash(data: data)).base64EncodedString()
            }
        }
        let store = MemoryUploads()
        try await app(store).test(.router) { client async throws in
            let path = try await client.begin(6)
            var headers = HTTPFields.piece(at: 0)
            headers[.uploadChecksum] = "\(algorithm) \(digest("abd"))"
            #expect(try await client.ask(path, .patch, headers, "abc").status.code == 460)
            #expect(store.all[0].bytes.isEmpty)
            headers[.uploadChecksum] = "\(algorithm) \(digest("abc"))"
            #expect(try await client.ask(path, .patch, headers, "abc").status == .noContent)
            #expect(store.all[0].bytes == Array("abc".utf8))
        }
    }

    private func app(_ store: MemoryUploads) -> some ApplicationProtocol {
        let router = Router(context: UserContext.self)
        let uploads = TusRoutes(store: store, path: "/files", maximumSize: 5_000_000) { (context: UserContext) in
            context.user
        }
        router.add(middleware: ReadUser())
        uploads.add(to: router)
        uploads.addDiscovery(to: router)
        return Application(router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)))
    }
}

/// A context whose user is a request header, without authentication.
private struct UserContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    var user = ""

    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
    }
}

private struct ReadUser: RouterMiddleware {
    func handle(
        _ request: Request,
        context: UserContext,
        next: (Request, UserContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        context.user = request.headers[.user] ?? ""
        return try await next(request, context)
    }
}

extension TestClientProtocol {
    fileprivate func ask(
        _ path: String,
        _ method: HTTPRequest.Method,
        _ headers: HTTPFields = [:],
        _ body: String? = nil,
        user: String = "ana"
    ) async throws -> TestResponse {
        var headers = headers
        headers[.user] = user
        headers[.tusResumable] = "1.0.0"
        return try await execute(uri: path, method: method, headers: headers, body: body.map { ByteBuffer(string: $0) })
    }

    /// The path of a new upload.
    fileprivate func begin(_ length: Int, _ headers: HTTPFields = [:]) async throws -> String {
        var headers = headers
        headers[.uploadLength] = "\(length)"
        let answer = try await ask("/files", .post, headers)
        #expect(answer.status == .created)
        #expect(answer.headers[.tusResumable] == "1.0.0")
        return try #require(answer.headers[.location])
    }
}

extension HTTPFields {
    fileprivate static func piece(at offset: Int?) -> HTTPFields {
        var fields: HTTPFields = [.contentType: "application/offset+octet-stream"]
        fields[.uploadOffset] = offset.map { "\($0)" }
        return fields
    }
}

// Names of RFC 9110's token characters alone always parse.
// swift-format-ignore: NeverForceUnwrap
extension HTTPField.Name {
    fileprivate static let user = HTTPField.Name("X-User")!
    fileprivate static let tusResumable = HTTPField.Name("Tus-Resumable")!
    fileprivate static let tusVersion = HTTPField.Name("Tus-Version")!
    fileprivate static let uploadOffset = HTTPField.Name("Upload-Offset")!
    fileprivate static let uploadLength = HTTPField.Name("Upload-Length")!
    fileprivate static let uploadMetadata = HTTPField.Name("Upload-Metadata")!
    fileprivate static let uploadExpires = HTTPField.Name("Upload-Expires")!
    fileprivate static let uploadChecksum = HTTPField.Name("Upload-Checksum")!
}
