import Foundation
import HTTPTypes
import PhotosAPI
import TestSupport
import Testing
import Wire

/// A disk that is full, and a bucket that goes away.
@Suite struct UploadFaultTests {
    @Test(.enabled(if: SmallDisk.isPossible)) func aFullDiskSaysSoAndOthersStillFit() async throws {
        try await SmallDisk.with { path in
            try await withUploads(settings: ["BLOBS_PATH": path]) { scene async throws in
                let first = try await scene.ann.uploaded(SampleImage.png())
                // As it is sent it does not fit.
                let large = try await scene.ann.upload(SampleImage.png(700, 700))
                #expect(large.status == 507)
                #expect(large.problem?.code == "storage_full")
                #expect(try await scene.bob.fetch(first.url).status == 200)
                _ = try await scene.ann.uploaded(SampleImage.png(seed: 1))
                try await scene.sweep()
                #expect(scene.blobs.count == 4)
                #expect(try await scene.count("blobs") == 4)
            }
        }
    }

    @Test func aBucketThatIsAwayIsToldAndLeavesNoOrphans() async throws {
        try await S3Server.with { server in
            try await withUploads(settings: server.settings) { scene async throws in
                let before = try await scene.ann.uploaded(SampleImage.png(seed: 1))
                #expect(try await server.objects(below: "photos/").count == 2)

                await server.kill()

                let answer = try await scene.ann.upload(SampleImage.png(seed: 2))
                #expect(answer.status == 503)
                #expect(answer.headers[.retryAfter] != nil)
                #expect(try await scene.bob.fetch(before.url).status == 503)
                // Whether they are there nobody can tell; so they stay noted, and due.
                #expect(try await scene.count("blobs", where: "due_at IS NOT NULL") == 2)

                try await server.start()

                let again = try await scene.ann.uploaded(SampleImage.png(seed: 2))
                #expect(try await scene.bob.fetch(again.url).status == 200)
                #expect(try await scene.bob.fetch(before.url).status == 200)
                try await scene.sweep()
                #expect(try await scene.count("blobs") == 4)
                #expect(try await server.objects(below: "photos/").count == 4)
                #expect(try await server.uploads().isEmpty)
            }
        }
    }
}
