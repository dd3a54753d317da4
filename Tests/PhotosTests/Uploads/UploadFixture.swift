import Foundation
import HTTPTypes
import NIOCore
import PhotosAPI
import Postgres
import ServiceClient
import TestSupport
import Testing
import Wire

@testable import PhotosServer

/// The service, with images in the test's own folder.
struct UploadFixture: Sendable {
    let fixture: PhotosFixture
    let folder: String

    var ann: TestUser { fixture.ann }
    var bob: TestUser { fixture.bob }

    /// The names of all files, stored or pending.
    var blobs: [String] {
        let found = FileManager.default.enumerator(atPath: "\(folder)/photos")?.compactMap { $0 as? String } ?? []
        return found.filter { $0.split(separator: "/").last?.utf8.count == 26 && !$0.hasPrefix("incoming/scratch/") }
            .sorted()
    }

    func count(_ table: String, where condition: String = "true") async throws -> Int {
        let query = "SELECT count(*)::text AS row FROM \(table) WHERE \(condition)"
        return try await Int(fixture.rows(query)[0]) ?? -1
    }

    func run(_ statement: String) async throws {
        try await fixture.service.database.pool.run(PostgresQuery(sql: statement))
    }

    /// Waits until the service has removed everything that is due.
    func waitForCleanup() async throws {
        try await eventually { try await count("blobs", where: "due_at <= clock_timestamp()") == 0 }
    }

    /// Expects no files and no rows of uploads.
    func expectNoFiles(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await waitForCleanup()
        #expect(blobs.isEmpty, sourceLocation: sourceLocation)
        for table in ["blobs", "files", "uploads", "upload_pieces"] {
            #expect(try await count(table) == 0, "\(table)", sourceLocation: sourceLocation)
        }
    }
}

func withUploads(
    settings: [String: String] = [:],
    change: (inout PhotosConfiguration) -> Void = { _ in },
    _ body: (UploadFixture) async throws -> Void
) async throws {
    let folder = NSTemporaryDirectory() + "uploads-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let files = ["BLOBS_PATH": folder].merging(settings) { $1 }
    try await withPhotos(settings: files, change: change) { fixture async throws in
        try await body(UploadFixture(fixture: fixture, folder: settings["BLOBS_PATH"] ?? folder))
    }
}

extension TestUser {
    func upload(
        _ bytes: [UInt8],
        as type: String = "image/png",
        headers: HTTPFields = [:]
    ) async throws -> TestHTTPResponse {
        TestHTTPResponse(try await service.transport.send(request(type, headers, Data(bytes))))
    }

    /// Uploads an image and expects success.
    func uploaded(_ bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) async throws -> Upload {
        let response = try await upload(bytes)
        #expect(response.status == 200, "\(response.text)", sourceLocation: sourceLocation)
        return try response.decode()
    }

    /// Uploads a body in parts, without a length.
    func upload<Body: AsyncSequence & Sendable>(streaming body: Body) async throws -> TestHTTPResponse
    where Body.Element == ByteBuffer, Body.AsyncIterator: SendableMetatype {
        TestHTTPResponse(try await service.transport.send(request("image/png", [:], nil), streaming: body))
    }

    /// Fetches a URL without authentication.
    func fetch(
        _ url: String,
        _ method: HTTPRequest.Method = .get,
        headers: HTTPFields = [:]
    ) async throws -> TestHTTPResponse {
        let path = try #require(url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).last)
        return try await service.send(method, "/\(path)", headers: headers)
    }

    private func request(_ type: String, _ headers: HTTPFields, _ body: Data?) -> ServiceRequest {
        var headers = headers
        headers[.authorization] = "Bearer \(token)"
        headers[.contentType] = type
        return ServiceRequest(method: .post, path: "/photos/uploads", headers: headers, body: body)
    }
}
