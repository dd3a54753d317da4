import ConversationsAPI
import Foundation
import HTTPTypes
import NIOCore
import Postgres
import ServiceClient
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

/// A conversation in a service that stores files in the test's own folder.
struct FileFixture: Sendable {
    let fixture: ConversationFixture
    let folder: String

    var ana: Person { fixture.ana }
    var bo: Person { fixture.bo }
    var eve: Person { fixture.eve }
    var token: String { fixture.token }
    var path: String { "/conversations/\(token)/messages" }

    /// The names of all files that are stored or being uploaded.
    var files: [String] {
        let found =
            FileManager.default.enumerator(atPath: "\(folder)/conversations")?.compactMap { $0 as? String } ?? []
        return found.filter { $0.utf8.count > 10 }.sorted()
    }

    /// Returns the number of rows in the table of files.
    func noted() async throws -> Int {
        try await fixture.service.database.pool.one("SELECT count(*) AS count FROM files", as: { try $0.int("count") })
    }

    /// Expects that there are no files, no rows of files and no messages.
    func expectNothing(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        #expect(files.isEmpty, sourceLocation: sourceLocation)
        #expect(try await noted() == 0, sourceLocation: sourceLocation)
        let said = try await ana.conversations.messages(token).filter { $0.senderUser != nil }
        #expect(said.isEmpty, sourceLocation: sourceLocation)
    }
}

func withFiles(
    settings: [String: String] = [:],
    change: (inout ConversationsConfiguration) -> Void = { _ in },
    _ body: (FileFixture) async throws -> Void
) async throws {
    let folder = NSTemporaryDirectory() + "files-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let files = ["BLOBS_PATH": folder].merging(settings) { $1 }
    try await withConversation(settings: files, change: change) { fixture in
        try await body(FileFixture(fixture: fixture, folder: settings["BLOBS_PATH"] ?? folder))
    }
}

/// A multipart form as a browser writes it.
struct Form {
    static let boundary = "----RoostFormBoundary7MA4YWxkTrZu0gW"
    static let contentType = "multipart/form-data; boundary=\(boundary)"

    private(set) var bytes: [UInt8] = []

    mutating func add(_ name: String, _ text: String) {
        add("name=\"\(name)\"", Array(text.utf8))
    }

    mutating func add(file bytes: [UInt8], named name: String, type: String = "application/octet-stream") {
        add("name=\"file\"; filename=\"\(name)\"", bytes, "Content-Type: \(type)\r\n")
    }

    mutating func add(_ parameters: String, _ content: [UInt8], _ header: String = "") {
        bytes += "--\(Self.boundary)\r\nContent-Disposition: form-data; \(parameters)\r\n\(header)\r\n".utf8
        bytes += content
        bytes += "\r\n".utf8
    }

    /// The form with its closing delimiter.
    var whole: [UInt8] { bytes + "--\(Self.boundary)--\r\n".utf8 }
}

extension Person {
    func upload(
        _ bytes: [UInt8],
        as type: String = "application/octet-stream",
        to path: String,
        headers: HTTPFields = [:]
    ) async throws -> TestHTTPResponse {
        TestHTTPResponse(try await service.transport.send(request(path, type, headers, Data(bytes))))
    }

    /// Uploads a body in pieces, without a declared length.
    func upload<Body: AsyncSequence & Sendable>(
        streaming body: Body,
        as type: String = "application/octet-stream",
        to path: String,
        headers: HTTPFields = [:]
    ) async throws -> TestHTTPResponse where Body.Element == ByteBuffer, Body.AsyncIterator: SendableMetatype {
        TestHTTPResponse(try await service.transport.send(request(path, type, headers, nil), streaming: body))
    }

    /// Fetches a link without authentication.
    func fetch(
        _ link: String?,
        _ method: HTTPRequest.Method = .get,
        headers: HTTPFields = [:]
    ) async throws -> TestHTTPResponse {
        let link = try #require(link)
        let path = try #require(link.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).last)
        return try await service.send(method, "/\(path)", headers: headers)
    }

    private func request(_ path: String, _ type: String, _ headers: HTTPFields, _ body: Data?) -> ServiceRequest {
        var headers = headers
        headers[.authorization] = "Bearer \(token)"
        headers[.contentType] = type
        return ServiceRequest(method: .post, path: path, headers: headers, body: body)
    }
}

enum Sample {
    static let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0, 0x10] + "JFIF".utf8 + [UInt8](repeating: 0x55, count: 2_000)
    static let svg = Array(#"<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>"#.utf8)
    static let html = Array("<!DOCTYPE html><script>alert(document.cookie)</script>".utf8)
    static let zip: [UInt8] = [0x50, 0x4B, 0x03, 0x04] + [UInt8](repeating: 0, count: 100)
}
