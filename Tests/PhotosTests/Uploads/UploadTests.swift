import Foundation
import HTTPTypes
import NIOCore
import PhotosAPI
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import PhotosServer

@Suite("Uploads in one request") struct UploadTests {
    @Test("An uploaded image is served in two sizes with immutable caching")
    func twoSizes() async throws {
        try await withUploads { fixture async throws in
            let upload = try await fixture.ann.uploaded(SampleImage.png(2_000, 1_000))
            #expect(upload.width == 1_280)
            #expect(upload.height == 640)
            #expect(upload.blurhash.count >= 6)
            #expect(upload.url != upload.thumbnailUrl)
            for url in [upload.url, upload.thumbnailUrl] {
                #expect(url.hasPrefix("http://127.0.0.1:8080/media/"))
                let response = try await fixture.bob.fetch(url)
                #expect(response.status == 200)
                #expect(response.headers[.contentType]?.hasPrefix("image/") == true)
                #expect(response.headers[.xContentTypeOptions] == "nosniff")
                #expect(response.headers[.cacheControl] == "public, max-age=31536000, immutable")
                #expect(response.body.count > 100)
            }
            #expect(fixture.blobs.count == 2)
            #expect(try await fixture.count("blobs", where: "due_at IS NULL AND size > 0") == 2)
            #expect(try await fixture.ann.ask(.get, "/photos/uploads/\(upload.uploadId)").decode() == upload)
            #expect(try await fixture.bob.ask(.get, "/photos/uploads/\(upload.uploadId)").status == 404)
        }
    }

    @Test(
        "A form with one file is accepted, and a form with two, none or an incomplete one is rejected",
        arguments: ["file", "picture"]
    )
    func multipartForm(name: String) async throws {
        try await withUploads { fixture async throws in
            let head = "--b\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nhello\r\n"
            let part = "--b\r\nContent-Disposition: form-data; name=\"\(name)\"; filename=\"a.png\"\r\n\r\n"
            let form = Array((head + part).utf8) + SampleImage.png() + Array("\r\n--b--\r\n".utf8)
            let response = try await fixture.ann.upload(form, as: "multipart/form-data; boundary=b")
            #expect(response.status == 200, "\(response.text)")

            let twice = Array((part + "x\r\n" + part).utf8) + SampleImage.png() + Array("\r\n--b--\r\n".utf8)
            let refused = try await fixture.ann.upload(twice, as: "multipart/form-data; boundary=b")
            #expect(refused.problem?.code == "too_many_files")
            let none = try await fixture.ann.upload(
                Array((head + "--b--\r\n").utf8),
                as: "multipart/form-data; boundary=b"
            )
            #expect(none.problem?.field == "file")
            let cut = try await fixture.ann.upload(Array(form.dropLast(20)), as: "multipart/form-data; boundary=b")
            #expect(cut.problem?.code == "incomplete_body")
            #expect(try await fixture.count("uploads") == 1)
        }
    }

    @Test("A file that is not a supported image is rejected and leaves no files")
    func invalidImage() async throws {
        try await withUploads { fixture async throws in
            let svg = Array(#"<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>"#.utf8)
            // This HEIC file has 131,072 nested boxes.
            var nested = Array("\0\0\0\u{10}ftypheic\0\0\0\0\0\u{10}\0\u{0C}meta\0\0\0\0".utf8)
            for level in 0..<131_072 {
                let length = (131_072 - level) * 8
                nested += (0..<4).reversed().map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) } + Array("ipco".utf8)
            }
            let cut = Array(SampleImage.png().prefix(60))
            for bytes in [svg, Array("hello".utf8), [0xFF, 0xD8, 0xFF, 0xE0], cut, nested] {
                let response = try await fixture.ann.upload(bytes)
                #expect([415, 422].contains(response.status), "\(response.text)")
                #expect(response.problem?.field == "file")
            }
            #expect(try await fixture.ann.upload([]).problem?.code == "missing_field")
            #expect(try await fixture.ann.upload([1], as: "application/json").status == 415)
            #expect(try await fixture.ann.upload([1], as: "text/html").status == 415)
            try await fixture.expectNoFiles()
        }
    }

    @Test("A file over the byte limit is rejected, with and without a declared length")
    func sizeLimit() async throws {
        try await withUploads(settings: ["PHOTO_BYTES_MAX": "100000"]) { fixture async throws in
            let announced = try await fixture.ann.upload([UInt8](repeating: 1, count: 100_001))
            #expect(announced.problem?.code == "file_too_large")
            let source = AsyncStream { ByteBuffer(repeating: 1, count: 30_000) }
            let streamed = try await fixture.ann.upload(streaming: source)
            #expect(streamed.status == 413)
            #expect(streamed.problem?.code == "file_too_large")
            try await fixture.expectNoFiles()
        }
    }

    @Test("An image over the pixel limit is rejected")
    func pixelLimit() async throws {
        try await withUploads(change: { $0.maximumPhotoPixels = 1_000 }) { fixture async throws in
            #expect(try await fixture.ann.upload(SampleImage.png()).problem?.code == "too_many_pixels")
            try await fixture.expectNoFiles()
        }
    }

    @Test("Equal images of one user share a file until the last use is deleted")
    func deduplication() async throws {
        try await withUploads { fixture async throws in
            let first = try await fixture.ann.uploaded(SampleImage.png())
            let second = try await fixture.ann.uploaded(SampleImage.png())
            let others = try await fixture.bob.uploaded(SampleImage.png())
            #expect(first.uploadId != second.uploadId)
            #expect(first.url == second.url)
            // Files are not shared between users, so an upload does not reveal whether another user has the image.
            #expect(others.url != first.url)
            #expect(try await fixture.fixture.rows("SELECT uses::text AS row FROM files ORDER BY uses") == ["1", "2"])
            #expect(fixture.blobs.count == 4)

            let posts = try await [first, second].asyncMap {
                try await fixture.ann.photos.post(PostDraft(uploadIds: [$0.uploadId]))
            }
            for (post, status) in zip(posts, [200, 404]) {
                _ = try await fixture.ann.ask(.delete, "/photos/posts/\(post.postId)")
                #expect(try await fixture.bob.fetch(first.url).status == status)
                #expect(try await fixture.bob.fetch(first.thumbnailUrl).status == status)
            }
            try await fixture.waitForCleanup()
            #expect(fixture.blobs.count == 2)
            #expect(try await fixture.count("blobs") == 2)
            #expect(try await fixture.bob.fetch(others.url).status == 200)
        }
    }

    @Test("Six concurrent uploads of equal images share one file")
    func concurrentDeduplication() async throws {
        try await withUploads { fixture async throws in
            let answers = try await withThrowingTaskGroup(of: TestHTTPResponse.self) { tasks in
                for _ in 0..<6 { tasks.addTask { try await fixture.ann.upload(SampleImage.png(300, 300)) } }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0.status == 200 })
            #expect(Set(answers.map { $0.json["url"] }).count == 1)
            #expect(Set(answers.map { $0.json["uploadId"] }).count == 6)
            #expect(try await fixture.fixture.rows("SELECT uses::text AS row FROM files") == ["6"])
            try await fixture.waitForCleanup()
            #expect(fixture.blobs.count == 2)
            #expect(try await fixture.count("blobs") == 2)
        }
    }

    @Test("An upload can be used once, by its owner")
    func singleUse() async throws {
        try await withUploads { fixture async throws in
            let upload = try await fixture.ann.uploaded(SampleImage.png())
            let mine = PostDraft(uploadIds: [upload.uploadId])
            await #expect(throws: APIError(.notFound, "upload_not_found", "there is no such upload")) {
                try await fixture.bob.photos.post(mine)
            }
            let post = try await fixture.ann.photos.post(mine)
            #expect(post.images.map(\.url) == [upload.url])
            #expect(post.images.map(\.blurhash) == [upload.blurhash])
            await #expect(throws: APIError(.conflict, "upload_already_used", "an upload can be used only once")) {
                try await fixture.ann.photos.post(mine)
            }
            await #expect(throws: APIError(.notFound, "upload_not_found", "there is no such upload")) {
                try await fixture.ann.photos.post(PostDraft(uploadIds: ["nothing"]))
            }
        }
    }

    @Test("An unused upload expires and its files are removed")
    func expiry() async throws {
        try await withUploads { fixture async throws in
            let (kept, left) = (
                try await fixture.ann.uploaded(SampleImage.png()),
                try await fixture.ann.uploaded(SampleImage.png(seed: 1))
            )
            _ = try await fixture.ann.photos.post(PostDraft(uploadIds: [kept.uploadId]))
            #expect(
                try await fixture.count(
                    "uploads",
                    where: "expires_at > clock_timestamp() + interval '23 hours 59 minutes'"
                )
                    == 1
            )
            try await fixture.run("UPDATE uploads SET expires_at = clock_timestamp() WHERE expires_at IS NOT NULL")
            #expect(try await fixture.ann.ask(.get, "/photos/uploads/\(left.uploadId)").status == 404)
            await #expect(throws: APIError(.notFound, "upload_not_found", "there is no such upload")) {
                try await fixture.ann.photos.post(PostDraft(uploadIds: [left.uploadId]))
            }
            try await eventually(within: .seconds(40)) { try await fixture.count("uploads") == 1 }
            try await fixture.waitForCleanup()
            #expect(try await fixture.bob.fetch(left.url).status == 404)
            #expect(try await fixture.bob.fetch(kept.url).status == 200)
            #expect(fixture.blobs.count == 2)
        }
    }

    @Test("Uploads over the limit of pending uploads respond 429 until one is used")
    func pendingLimit() async throws {
        try await withUploads(change: { $0.maximumPendingUploads = 2 }) { fixture async throws in
            let first = try await fixture.ann.uploaded(SampleImage.png(seed: 1))
            _ = try await fixture.ann.uploaded(SampleImage.png(seed: 2))
            let third = try await fixture.ann.upload(SampleImage.png(seed: 3))
            #expect(third.status == 429)
            #expect(third.headers[.retryAfter] != nil)
            _ = try await fixture.bob.uploaded(SampleImage.png(seed: 3))
            _ = try await fixture.ann.photos.post(PostDraft(uploadIds: [first.uploadId]))
            _ = try await fixture.ann.uploaded(SampleImage.png(seed: 3))
        }
    }

    @Test("A repeated request with the same idempotency key creates one upload")
    func idempotencyKey() async throws {
        try await withUploads { fixture async throws in
            let headers: HTTPFields = [.idempotencyKey: "k-1"]
            let first = try await fixture.ann.upload(SampleImage.png(), headers: headers)
            let again = try await fixture.ann.upload(SampleImage.png(), headers: headers)
            #expect(first.status == 200)
            #expect(first.json == again.json)
            #expect(try await fixture.count("uploads") == 1)
        }
    }

    @Test("Files that a crashed process left are removed when they are due")
    func crashLeftovers() async throws {
        try await withUploads { fixture async throws in
            let kept = try await fixture.ann.uploaded(SampleImage.png())
            for name in ["aa/aaaaaaaaaaaaaaaaaaaaaaaaaa", "bb/bbbbbbbbbbbbbbbbbbbbbbbbbb"] {
                let file = URL(filePath: "\(fixture.folder)/photos/\(name)")
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(),
                    withIntermediateDirectories: true
                )
                try Data([1]).write(to: file)
            }
            // The process crashed between writing the file and recording the upload, once long ago and once just now.
            // The files are written before the rows, because the service may clean up at any time.
            try await fixture.run(
                """
                INSERT INTO blobs (owner_id, key, due_at) VALUES
                    (1, 'aaaaaaaaaaaaaaaaaaaaaaaaaa', clock_timestamp() - interval '1 second'),
                    (1, 'bbbbbbbbbbbbbbbbbbbbbbbbbb', clock_timestamp() + interval '1 hour')
                """
            )
            try await fixture.waitForCleanup()
            #expect(fixture.blobs.count == 3)
            #expect(fixture.blobs.contains("bb/bbbbbbbbbbbbbbbbbbbbbbbbbb"))
            #expect(try await fixture.bob.fetch(kept.url).status == 200)
        }
    }
}

extension Sequence {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
