import Foundation
import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

@Suite("Storage failures") struct UploadFaultTests {
    @Test("An upload to a full disk responds 507, and a smaller one succeeds", .enabled(if: SmallDisk.isPossible))
    func fullDisk() async throws {
        try await SmallDisk.with { path in
            try await withUploads(settings: ["BLOBS_PATH": path]) { fixture async throws in
                let first = try await fixture.ann.uploaded(SampleImage.png())
                // The uploaded file itself does not fit on the disk.
                let large = try await fixture.ann.upload(SampleImage.png(700, 700))
                #expect(large.status == 507)
                #expect(large.problem?.code == "storage_full")
                #expect(try await fixture.bob.fetch(first.url).status == 200)
                _ = try await fixture.ann.uploaded(SampleImage.png(seed: 1))
                try await fixture.waitForCleanup()
                #expect(fixture.blobs.count == 4)
                #expect(try await fixture.count("blobs") == 4)
            }
        }
    }

    @Test("Uploads and downloads respond 503 while the bucket is unavailable, and leave no files")
    func unavailableBucket() async throws {
        try await S3Server.with { server in
            try await withUploads(settings: server.settings) { fixture async throws in
                let before = try await fixture.ann.uploaded(SampleImage.png(seed: 1))
                #expect(try await server.objects(below: "photos/").count == 2)

                await server.kill()

                let response = try await fixture.ann.upload(SampleImage.png(seed: 2))
                #expect(response.status == 503)
                #expect(response.headers[.retryAfter] != nil)
                #expect(try await fixture.bob.fetch(before.url).status == 503)
                // The files may exist, so their rows stay and are due for removal.
                #expect(try await fixture.count("blobs", where: "due_at IS NOT NULL") == 2)

                try await server.start()

                let again = try await fixture.ann.uploaded(SampleImage.png(seed: 2))
                #expect(try await fixture.bob.fetch(again.url).status == 200)
                #expect(try await fixture.bob.fetch(before.url).status == 200)
                try await fixture.waitForCleanup()
                #expect(try await fixture.count("blobs") == 4)
                #expect(try await server.objects(below: "photos/").count == 4)
                #expect(try await server.uploads().isEmpty)
            }
        }
    }
}
