import ChildProcesses
import Foundation
import HTTPTypes
import NIOCore
import PhotosAPI
import ServiceClient
import TestSupport
import Testing
import Wire

/// Images that come in pieces, by tus.
@Suite struct ResumableUploadTests {
    @Test func otherPeoplesClientUploadsHoweverItGoes() async throws {
        try await withUploads { scene async throws in
            let file = "\(scene.folder)/image.png"
            try Data(SampleImage.png(400, 300)).write(to: URL(filePath: file))
            let ids = try await scene.scene.service.served { port in
                try await journey(of: scene.ann, to: port, file: file)
            }
            #expect(ids.count == 8)
            for id in ids {
                let upload: Upload = try await scene.ann.ask(.get, "/photos/uploads/\(id)").decode()
                #expect(upload.uploadId == id)
                #expect(upload.width == 400)
                #expect(try await scene.bob.fetch(upload.thumbnailUrl).status == 200)
            }
            // All had the same bytes, however they came.
            let uses = try await scene.scene.rows("SELECT uses::text AS row FROM files")
            #expect(uses == ["8"])
            #expect(try await scene.count("upload_pieces") == 0)
            try await scene.sweep()
            #expect(scene.blobs.count == 2)
            _ = try await scene.ann.photos.post(PostDraft(uploadIds: ids))
        }
    }

    @Test func whatAnInstanceHasBegunAnotherEnds() async throws {
        try await withUploads { scene async throws in
            try await withSecondInstance(of: scene.scene, settings: ["BLOBS_PATH": scene.folder]) { second in
                let image = SampleImage.png()
                let path = try await scene.ann.begin(image.count)
                let half = image.count / 2
                #expect(try await scene.ann.patch(path, 0, image.prefix(half)).status == 204)
                #expect(
                    try await scene.ann.ask(.get, "/photos/uploads/\(path.id)").problem?.code == "upload_incomplete"
                )
                let answer = try await scene.ann.patch(path, half, image.dropFirst(half), at: second)
                #expect(answer.status == 204, "\(answer.text)")
                let upload: Upload = try await scene.ann.ask(.get, "/photos/uploads/\(path.id)").decode()
                #expect(try await scene.bob.fetch(upload.url).status == 200)
            }
        }
    }

    @Test func whatIsNoImageIsToldWithItsLastPiece() async throws {
        try await withUploads { scene async throws in
            let path = try await scene.ann.begin(6)
            #expect(try await scene.ann.patch(path, 0, Array("abc".utf8)[...]).status == 204)
            let answer = try await scene.ann.patch(path, 3, Array("def".utf8)[...])
            #expect(answer.status == 415)
            #expect(answer.headers[.tusResumable] == "1.0.0")
            #expect(try await scene.ann.tus(.head, path).status == 404)
            try await scene.expectNothing()
        }
    }

    @Test func oneThatIsEndedOrExpiresLeavesNothing() async throws {
        try await withUploads { scene async throws in
            let image = SampleImage.png()
            let (ended, expired) = (try await scene.ann.begin(image.count), try await scene.ann.begin(image.count))
            for path in [ended, expired] {
                #expect(try await scene.ann.patch(path, 0, image.prefix(100)).status == 204)
            }
            #expect(try await scene.bob.tus(.delete, ended).status == 404)
            #expect(try await scene.ann.tus(.delete, ended).status == 204)
            try await scene.run("UPDATE uploads SET expires_at = clock_timestamp()")
            #expect([404, 410].contains(try await scene.ann.patch(expired, 100, image.dropFirst(100)).status))
            try await eventually(within: .seconds(40)) { try await scene.count("uploads") == 0 }
            try await scene.expectNothing()
        }
    }

    @Test func aPieceWhoseNoteIsStruckOffLeavesNothing() async throws {
        try await withUploads { scene async throws in
            let path = try await scene.ann.begin(2)
            let isGiven = Shared(false)
            // As if it had taken longer than a blob may be on its way, and the sweep had been there first.
            let piece = AsyncThrowingStream<ByteBuffer, any Error>(unfolding: {
                guard !isGiven.value else { return nil }
                try await scene.run("UPDATE blobs SET due_at = clock_timestamp()")
                try await eventually { try await scene.count("blobs") == 0 }
                isGiven.change { $0 = true }
                return ByteBuffer(bytes: [1])
            })
            let answer = try await scene.ann.patch(path, streaming: piece)
            #expect(isGiven.value)
            #expect(answer.status == 503, "\(answer.text)")
            #expect(scene.blobs.isEmpty)
            #expect(try await scene.count("blobs") == 0)
            #expect(try await scene.ann.tus(.head, path).headers[.uploadOffset] == "0")
        }
    }

    @Test func anUploadComesInSoManyPiecesAndNoMore() async throws {
        try await withUploads { scene async throws in
            let path = try await scene.ann.begin(2_000)
            _ = try await scene.ann.patch(path, 0, [1])
            try await scene.run(
                """
                INSERT INTO upload_pieces (owner_id, upload_id, start, key)
                SELECT owner_id, upload_id, number, 'a' FROM uploads, generate_series(1, 999) AS number
                """
            )
            let answer = try await scene.ann.patch(path, 1, [1])
            #expect(answer.status == 413)
            #expect(answer.problem?.code == "too_many_chunks")
        }
    }

    @Test func everyRefusalIsAProblemThatSaysItsVersion() async throws {
        try await withUploads { scene async throws in
            let path = try await scene.ann.begin(5)
            for (status, code, answer) in [
                (409, "offset_mismatch", try await scene.ann.patch(path, 3, [1])),
                (413, "file_too_large", try await scene.ann.patch(path, 0, [1, 2, 3, 4, 5, 6])),
                (412, "unsupported_tus_version", try await scene.ann.tus(.patch, path, [.tusResumable: "0.1"])),
                (415, "unsupported_media_type", try await scene.ann.tus(.patch, path, [.contentType: "image/png"])),
                (400, "invalid_header", try await scene.ann.tus(.post, "/photos/uploads/tus", [:])),
                (
                    413, "file_too_large",
                    try await scene.ann.tus(.post, "/photos/uploads/tus", [.uploadLength: "20971521"])
                ),
                (404, "upload_not_found", try await scene.ann.tus(.delete, path + "x")),
            ] {
                #expect(answer.status == status)
                #expect(answer.problem?.code == code)
                #expect(answer.problem?.requestId != nil)
                #expect(answer.headers[.tusResumable] == "1.0.0")
            }
            #expect(try await scene.ann.tus(.head, path).headers[.uploadOffset] == "0")
        }
    }

    /// What `scripts/tus-journey.py` has uploaded.
    private func journey(of player: Player, to port: Int, file: String) async throws -> [String] {
        var environment = ProcessInfo.processInfo.environment
        environment["HEADER_AUTHORIZATION"] = "Bearer \(player.token)"
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

extension Player {
    fileprivate func tus(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ headers: HTTPFields = [:],
        _ body: Data? = nil,
        at other: TestService? = nil
    ) async throws -> TestAnswer {
        var all: HTTPFields = [.authorization: "Bearer \(token)", .tusResumable: "1.0.0"]
        for field in headers { all[field.name] = field.value }
        let request = ServiceRequest(method: method, path: path, headers: all, body: body)
        return TestAnswer(try await (other ?? service).transport.send(request))
    }

    fileprivate func begin(_ length: Int) async throws -> String {
        let answer = try await tus(.post, "/photos/uploads/tus", [.uploadLength: "\(length)"])
        #expect(answer.status == 201, "\(answer.text)")
        return try #require(answer.headers[.location])
    }

    fileprivate func patch(
        _ path: String,
        _ offset: Int,
        _ bytes: ArraySlice<UInt8>,
        at other: TestService? = nil
    ) async throws -> TestAnswer {
        let headers: HTTPFields = [.contentType: "application/offset+octet-stream", .uploadOffset: "\(offset)"]
        return try await tus(.patch, path, headers, Data(bytes), at: other)
    }

    /// The first piece, buffer by buffer and without a length.
    fileprivate func patch<Body: AsyncSequence & Sendable>(
        _ path: String,
        streaming body: Body
    ) async throws -> TestAnswer where Body.Element == ByteBuffer, Body.AsyncIterator: SendableMetatype {
        let headers: HTTPFields = [
            .authorization: "Bearer \(token)", .tusResumable: "1.0.0",
            .contentType: "application/offset+octet-stream", .uploadOffset: "0",
        ]
        let request = ServiceRequest(method: .patch, path: path, headers: headers)
        return TestAnswer(try await service.transport.send(request, streaming: body))
    }
}

extension String {
    /// The last part of a path.
    fileprivate var id: String { String(split(separator: "/").last ?? "") }
}

// Names of RFC 9110's token characters alone always parse.
// swift-format-ignore: NeverForceUnwrap
extension HTTPField.Name {
    fileprivate static let tusResumable = HTTPField.Name("Tus-Resumable")!
    fileprivate static let uploadOffset = HTTPField.Name("Upload-Offset")!
    fileprivate static let uploadLength = HTTPField.Name("Upload-Length")!
}
