@testable import PhotosServer
import PhotosAPI
import Postgres
import TestSupport
import Testing
import Wire

/// What posts and profiles take of uploads, and who goes takes along.
@Suite struct UploadStoreTests {
    @Test func aNewPictureTakesThePlaceOfTheOldOne() async throws {
        try await withUploads { scene async throws in
            let first = try await scene.ann.uploaded(SampleImage.png(seed: 1))
            let second = try await scene.ann.uploaded(SampleImage.png(seed: 2))
            let ann = try await scene.person("ann")
            let pool = scene.scene.service.database.pool
            let path = try await pool.transaction { try await UploadStore(db: $0).picture(first.uploadId, of: ann) }
            #expect(first.thumbnailUrl.hasSuffix(path))
            await #expect(throws: APIError(.conflict, "upload_already_used", "an upload serves one post")) {
                try await scene.ann.photos.post(PostDraft(uploadIds: [first.uploadId]))
            }
            _ = try await pool.transaction { try await UploadStore(db: $0).picture(second.uploadId, of: ann) }
            #expect(try await scene.bob.fetch(first.thumbnailUrl).status == 404)
            #expect(try await scene.bob.fetch(second.thumbnailUrl).status == 200)
            try await pool.transaction { try await UploadStore(db: $0).dropPicture(of: ann) }
            try await scene.expectNothing()
        }
    }

    @Test func anothersUploadIsNoPictureOfMine() async throws {
        try await withUploads { scene async throws in
            let upload = try await scene.ann.uploaded(SampleImage.png())
            _ = try await scene.bob.uploaded(SampleImage.png())
            let bob = try await scene.person("bob")
            await #expect(throws: UploadStore<PostgresPool>.notFound) {
                try await UploadStore(db: scene.scene.service.database.pool).picture(upload.uploadId, of: bob)
            }
        }
    }

    @Test func whoGoesTakesAllAlong() async throws {
        try await withUploads { scene async throws in
            let uploads = [
                try await scene.ann.uploaded(SampleImage.png(seed: 1)),
                try await scene.ann.uploaded(SampleImage.png(seed: 2)),
                try await scene.ann.uploaded(SampleImage.png(seed: 3)),
            ]
            let ann = try await scene.person("ann")
            let pool = scene.scene.service.database.pool
            _ = try await scene.ann.photos.post(PostDraft(uploadIds: [uploads[0].uploadId]))
            _ = try await UploadStore(db: pool).picture(uploads[1].uploadId, of: ann)
            try await pool.transaction { try await UploadStore(db: $0).abandon(of: ann) }
            for upload in uploads { #expect(try await scene.bob.fetch(upload.url).status == 404) }
            try await scene.expectNothing()
        }
    }
}

extension UploadScene {
    fileprivate func person(_ name: String) async throws -> Person.ID {
        let row = try await scene.rows("SELECT person_id::text AS row FROM people WHERE user_id = '\(name)'")[0]
        return Person.ID(try #require(Int64(row)))
    }
}
