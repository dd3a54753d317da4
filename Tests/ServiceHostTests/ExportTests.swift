import Configuration
import Credentials
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Postgres
import ServiceClient
import ServiceHost
import TestSupport
import Testing
import Wire

/// A service's part of an export, from the service that stores the data to auth, over HTTP.
@Suite("Exports of services") struct ExportTests {
    @Test("All files arrive as they were written")
    func allFiles() async throws {
        try await withExporter { client in
            let parts = try await client.parts(of: "Wilhelmina")
            #expect(parts.names == ["profile.json", "none.json", "many.json", "pictures/1.jpg", "empty"])
            #expect(parts.packed == ["pictures/1.jpg", "empty"])
            #expect(parts.text("profile.json") == #"{"name":"Wilhelmina"}"#)
            #expect(parts.text("none.json") == "[]\n")
            let many = try JSONDecoder().decode([Int].self, from: try #require(parts.contents["many.json"]))
            #expect(many == Array(0..<1_234))
            #expect(parts.contents["pictures/1.jpg"] == ExportingService.picture)
            #expect(parts.contents["empty"] == Data())
        }
    }

    /// One value that is larger than a frame, alone and in a list.
    @Test("A text larger than a frame arrives completely")
    func longText() async throws {
        try await withExporter { client in
            let parts = try await client.parts(of: "talker")
            #expect(parts.text("profile.json") == #"{"name":"talker","story":"\#(ExportingService.story)"}"#)
            let stories = try JSONDecoder().decode([String].self, from: try #require(parts.contents["stories.json"]))
            #expect(stories == [ExportingService.story, "short"])
        }
    }

    /// A clean end of the connection is not enough.
    @Test("An export that breaks off is an error")
    func brokenExport() async throws {
        try await withExporter { client in
            await #expect(throws: APIError.self) { try await client.parts(of: "broken") }
        }
    }

    @Test("Only auth may export, and for one user")
    func onlyAuthExports() async throws {
        try await TestService.with(ExportingService.self, peers: .with(["auth": Self.auth])) { service in
            let photos = try service.peerClient("photos", callee: "keeper")
            await #expect {
                try await photos.parts(of: "Wilhelmina")
            } throws: { error in
                (error as? APIError)?.code == "caller_not_allowed"
            }
            let auth = try service.peerClient("auth", callee: "keeper")
            for query in ["applicationId=roost", "userId=Wilhelmina"] {
                let path = "/internal/export?\(query)"
                await #expect(throws: APIError.self) { try await auth.send(.get, path) }
            }
        }
    }

    @Test(
        "A malformed export is refused",
        arguments: [[0, 0, 0, 0, 0], [9, 0, 0, 0, 0], [3, 0, 0, 0, 0], [1, 255, 0, 0, 0], [1, 0, 0, 0, 1, 0xFF]]
            as [[UInt8]]
    )
    func malformedExport(bytes: [UInt8]) throws {
        var reader = ExportReader()
        #expect(throws: APIError.self) { try reader.take(ByteBuffer(bytes: bytes)) }
    }

    @Test("Bytes after the end are refused")
    func trailingBytes() throws {
        var reader = ExportReader()
        #expect(try reader.take(ByteBuffer(bytes: [4, 0, 0, 0, 0])).isEmpty)
        #expect(reader.isWhole)
        #expect(throws: APIError.self) { try reader.take(ByteBuffer(bytes: [4])) }
    }

    /// The bytes may arrive in any pieces.
    @Test("An export is read one byte at a time")
    func oneByteAtATime() throws {
        let bytes: [UInt8] = [1, 0, 0, 0, 1, 97, 3, 0, 0, 0, 2, 104, 105, 4, 0, 0, 0, 0]
        var reader = ExportReader()
        var parts = ExportedFiles()
        for byte in bytes {
            #expect(!reader.isWhole)
            for part in try reader.take(ByteBuffer(bytes: [byte])) { parts.take(part) }
        }
        #expect(reader.isWhole)
        #expect(parts.text("a") == "hi")
        #expect(parts.packed == [])
    }

    private static let auth = ServiceClient(callee: "auth", transport: AuthTransport(TestKeys()))

    private func withExporter(_ body: @escaping @Sendable (ServiceClient) async throws -> Void) async throws {
        try await TestService.with(ExportingService.self, peers: .with(["auth": Self.auth])) { service in
            try await service.served { port in
                let tokens = try ServiceTokens(secret: TestService.secret, name: "auth")
                let transport = HTTPTransport(baseURLs: ["http://127.0.0.1:\(port)"])
                try await body(
                    ServiceClient(callee: "keeper", transport: transport) {
                        "Bearer \(try tokens.token(for: "keeper"))"
                    }
                )
            }
        }
    }
}

/// A service with data of every user.
private struct ExportingService: SuiteService {
    static let name = "keeper"
    static let defaultPort = 0
    static let migrations: [Migration] = []
    /// Larger than a frame.
    static let picture = Data((0..<2_500_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) })

    /// A text larger than a frame.
    static let story = String(repeating: "Once upon a time. ", count: 150_000)

    private struct ExportFailure: Error {}

    init(resources: ServiceResources, configuration: ConfigReader) async throws {}

    func addRoutes(to routes: SuiteRoutes) {
        Exports { user, export in
            let isTalker = user.user == "talker"
            let profile = isTalker ? ["name": user.user, "story": Self.story] : ["name": user.user]
            try await export.json("profile.json", profile)
            if isTalker { try await export.list("stories.json") { (_: Int?) in ([Self.story, "short"], nil) } }
            if user.user == "broken" { throw ExportFailure() }
            try await export.list("none.json") { (_: Int?) in ([], nil) }
            try await export.list("many.json") { (after: Int?) in
                let start = after ?? 0
                let end = min(start + 100, 1_234)
                return (Array(start..<end), end < 1_234 ? end : nil)
            }
            try await export.file("pictures/1.jpg") { try await $0(ByteBuffer(bytes: Self.picture)) }
            try await export.file("empty") { _ in }
        }.add(to: routes)
    }
}

extension ServiceClient {
    fileprivate func parts(of user: String) async throws -> ExportedFiles {
        try await ExportedFiles(of: User.ID(application: RoostApplication.id, user: user), from: self)
    }
}
