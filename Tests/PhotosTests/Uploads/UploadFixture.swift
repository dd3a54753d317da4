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

/// The service, with images in a folder of the test's own.
struct UploadFixture: Sendable {
    let fixture: PhotosFixture
    let folder: String

    var ann: TestUser { fixture.ann }
    var bob: TestUser { fixture.bob }

    /// The names of all blobs that are kept or on their way.
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

    /// Until nothing is due any more; the service sweeps by itself, and soon.
    func waitForCleanup() async throws {
        try await eventually { try await count("blobs", where: "due_at <= clock_timestamp()") == 0 }
    }

    /// Nothing is kept, nothing noted.
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

    /// The same, where it must work.
    func uploaded(_ bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) async throws -> Upload {
        let response = try await upload(bytes)
        #expect(response.status == 200, "\(response.text)", sourceLocation: sourceLocation)
        return try response.decode()
    }

    /// A body that comes piece by piece, without a length.
    func upload<Body: AsyncSequence & Sendable>(streaming body: Body) async throws -> TestHTTPResponse
    where Body.Element == ByteBuffer, Body.AsyncIterator: SendableMetatype {
        TestHTTPResponse(try await service.transport.send(request("image/png", [:], nil), streaming: body))
    }

    /// What is at an address, to somebody who is nobody.
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
