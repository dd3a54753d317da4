import ChildProcesses
import Foundation
import HTTPTypes
import NIOCore
import PhotosAPI
import ServiceClient
import TestSupport
import Testing
import Wire

/// Images that are uploaded in chunks with the tus protocol.
@Suite("Resumable uploads") struct ResumableUploadTests {
    @Test("A third-party tus client uploads eight images in different ways")
    func thirdPartyClient() async throws {
        try await withUploads { fixture async throws in
            let file = "\(fixture.folder)/image.png"
            try Data(SampleImage.png(400, 300)).write(to: URL(filePath: file))
            let ids = try await fixture.fixture.service.served { port in
                try await uploadByTusClient(of: fixture.ann, to: port, file: file)
            }
            #expect(ids.count == 8)
            for id in ids {
                let upload: Upload = try await fixture.ann.ask(.get, "/photos/uploads/\(id)").decode()
                #expect(upload.uploadId == id)
                #expect(upload.width == 400)
                #expect(try await fixture.bob.fetch(upload.thumbnailUrl).status == 200)
            }
            // All uploads had the same bytes, so they share one file.
            let uses = try await fixture.fixture.rows("SELECT uses::text AS row FROM files")
            #expect(uses == ["8"])
            #expect(try await fixture.count("upload_pieces") == 0)
            try await fixture.waitForCleanup()
            #expect(fixture.blobs.count == 2)
            _ = try await fixture.ann.photos.post(PostDraft(uploadIds: ids))
        }
    }

    @Test("An upload can continue at another instance")
    func secondInstance() async throws {
        try await withUploads { fixture async throws in
            try await withSecondInstance(of: fixture.fixture, settings: ["BLOBS_PATH": fixture.folder]) { second in
                let image = SampleImage.png()
                let path = try await fixture.ann.begin(image.count)
                let half = image.count / 2
                #expect(try await fixture.ann.patch(path, 0, image.prefix(half)).status == 204)
                #expect(
                    try await fixture.ann.ask(.get, "/photos/uploads/\(path.id)").problem?.code == "upload_incomplete"
                )
                let response = try await fixture.ann.patch(path, half, image.dropFirst(half), at: second)
                #expect(response.status == 204, "\(response.text)")
                let upload: Upload = try await fixture.ann.ask(.get, "/photos/uploads/\(path.id)").decode()
                #expect(try await fixture.bob.fetch(upload.url).status == 200)
            }
        }
    }

    @Test("A completed upload that is not an image is rejected and leaves no files")
    func invalidImage() async throws {
        try await withUploads { fixture async throws in
            let path = try await fixture.ann.begin(6)
            #expect(try await fixture.ann.patch(path, 0, Array("abc".utf8)[...]).status == 204)
            let response = try await fixture.ann.patch(path, 3, Array("def".utf8)[...])
            #expect(response.status == 415)
            #expect(response.headers[.tusResumable] == "1.0.0")
            #expect(try await fixture.ann.tus(.head, path).status == 404)
            try await fixture.expectNoFiles()
        }
    }

    @Test("A deleted or expired upload leaves no files")
    func termination() async throws {
        try await withUploads { fixture async throws in
            let image = SampleImage.png()
            let (ended, expired) = (try await fixture.ann.begin(image.count), try await fixture.ann.begin(image.count))
            for path in [ended, expired] {
                #expect(try await fixture.ann.patch(path, 0, image.prefix(100)).status == 204)
            }
            #expect(try await fixture.bob.tus(.delete, ended).status == 404)
            #expect(try await fixture.ann.tus(.delete, ended).status == 204)
            try await fixture.run("UPDATE uploads SET expires_at = clock_timestamp()")
            #expect([404, 410].contains(try await fixture.ann.patch(expired, 100, image.dropFirst(100)).status))
            try await eventually(within: .seconds(40)) { try await fixture.count("uploads") == 0 }
            try await fixture.expectNoFiles()
        }
    }

    @Test("A chunk whose file is removed before the request ends is not counted")
    func expiredChunk() async throws {
        try await withUploads { fixture async throws in
            let path = try await fixture.ann.begin(2)
            let isGiven = SharedValue(false)
            // This simulates a request that takes longer than a file may be pending, so cleanup removes the file.
            let piece = AsyncThrowingStream<ByteBuffer, any Error>(unfolding: {
                guard !isGiven.value else { return nil }
                try await fixture.run("UPDATE blobs SET due_at = clock_timestamp()")
                try await eventually { try await fixture.count("blobs") == 0 }
                isGiven.change { $0 = true }
                return ByteBuffer(bytes: [1])
            })
            let response = try await fixture.ann.patch(path, streaming: piece)
            #expect(isGiven.value)
            #expect(response.status == 503, "\(response.text)")
            #expect(fixture.blobs.isEmpty)
            #expect(try await fixture.count("blobs") == 0)
            #expect(try await fixture.ann.tus(.head, path).headers[.uploadOffset] == "0")
        }
    }

    @Test("More than 1,000 chunks are rejected")
    func chunkLimit() async throws {
        try await withUploads { fixture async throws in
            let path = try await fixture.ann.begin(2_000)
            _ = try await fixture.ann.patch(path, 0, [1])
            try await fixture.run(
                """
                INSERT INTO upload_pieces (owner_id, upload_id, start, key)
                SELECT owner_id, upload_id, number, 'a' FROM uploads, generate_series(1, 999) AS number
                """
            )
            let response = try await fixture.ann.patch(path, 1, [1])
            #expect(response.status == 413)
            #expect(response.problem?.code == "too_many_chunks")
        }
    }

    @Test("Invalid requests get the status and error code of the tus protocol")
    func errorResponses() async throws {
        try await withUploads { fixture async throws in
            let path = try await fixture.ann.begin(5)
            for (status, code, response) in [
                (409, "offset_mismatch", try await fixture.ann.patch(path, 3, [1])),
                (413, "file_too_large", try await fixture.ann.patch(path, 0, [1, 2, 3, 4, 5, 6])),
                (412, "unsupported_tus_version", try await fixture.ann.tus(.patch, path, [.tusResumable: "0.1"])),
                (415, "unsupported_media_type", try await fixture.ann.tus(.patch, path, [.contentType: "image/png"])),
                (400, "invalid_header", try await fixture.ann.tus(.post, "/photos/uploads/tus", [:])),
                (
                    413, "file_too_large",
                    try await fixture.ann.tus(.post, "/photos/uploads/tus", [.uploadLength: "20971521"])
                ),
                (404, "upload_not_found", try await fixture.ann.tus(.delete, path + "x")),
            ] {
                #expect(response.status == status)
                #expect(response.problem?.code == code)
                #expect(response.problem?.requestId != nil)
                #expect(response.headers[.tusResumable] == "1.0.0")
            }
            #expect(try await fixture.ann.tus(.head, path).headers[.uploadOffset] == "0")
        }
    }

    /// Runs `scripts/tus-journey.py` and returns the ids of its uploads.
    private func uploadByTusClient(of testUser: TestUser, to port: Int, file: String) async throws -> [String] {
        var environment = ProcessInfo.processInfo.environment
        environment["HEADER_AUTHORIZATION"] = "Bearer \(testUser.token)"
        environment["CONTENT"] = file
        environment["DISCOVERY"] = "1"
        let url = "http://127.0.0.1:\(port)/photos/uploads/tus"
        let result = try await ProcessCommand(
            try await PythonPrograms.path("tus"),
            ["\(PythonPrograms.scripts)/tus-journey.py", url, "1"],
            environment: environment
        ).run(within: .seconds(120))
        #expect(result.status.isSuccess, "\(result.output)")
        return result.output.split(separator: "\n").map { $0.split(separator: " ") }.filter { $0.count == 3 }
            .map { String($0[1]).id }
    }
}

extension TestUser {
    fileprivate func tus(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ headers: HTTPFields = [:],
        _ body: Data? = nil,
        at other: TestService? = nil
    ) async throws -> TestHTTPResponse {
        var all: HTTPFields = [.authorization: "Bearer \(token)", .tusResumable: "1.0.0"]
        for field in headers { all[field.name] = field.value }
        let request = ServiceRequest(method: method, path: path, headers: all, body: body)
        return TestHTTPResponse(try await (other ?? service).transport.send(request))
    }

    fileprivate func begin(_ length: Int) async throws -> String {
        let response = try await tus(.post, "/photos/uploads/tus", [.uploadLength: "\(length)"])
        #expect(response.status == 201, "\(response.text)")
        return try #require(response.headers[.location])
    }

    fileprivate func patch(
        _ path: String,
        _ offset: Int,
        _ bytes: ArraySlice<UInt8>,
        at other: TestService? = nil
    ) async throws -> TestHTTPResponse {
        let headers: HTTPFields = [.contentType: "application/offset+octet-stream", .uploadOffset: "\(offset)"]
        return try await tus(.patch, path, headers, Data(bytes), at: other)
    }

    /// Sends the first chunk, buffer by buffer and without a length.
    fileprivate func patch<Body: AsyncSequence & Sendable>(
        _ path: String,
        streaming body: Body
    ) async throws -> TestHTTPResponse where Body.Element == ByteBuffer, Body.AsyncIterator: SendableMetatype {
        let headers: HTTPFields = [
            .authorization: "Bearer \(token)", .tusResumable: "1.0.0",
            .contentType: "application/offset+octet-stream", .uploadOffset: "0",
        ]
        let request = ServiceRequest(method: .patch, path: path, headers: headers)
        return TestHTTPResponse(try await service.transport.send(request, streaming: body))
    }
}

extension String {
    /// The last component of a path.
    fileprivate var id: String { String(split(separator: "/").last ?? "") }
}

// Names of RFC 9110's token characters alone always parse.
// swift-format-ignore: NeverForceUnwrap
extension HTTPField.Name {
    fileprivate static let tusResumable = HTTPField.Name("Tus-Resumable")!
    fileprivate static let uploadOffset = HTTPField.Name("Upload-Offset")!
    fileprivate static let uploadLength = HTTPField.Name("Upload-Length")!
}
