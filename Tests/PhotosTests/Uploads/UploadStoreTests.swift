@testable import PhotosServer
import PhotosAPI
import Postgres
import TestSupport
import Testing
import Wire

/// What posts and profiles take of uploads, and who goes takes along.
@Suite struct UploadStoreTests {
    @Test func pictureReplacement() async throws {
        try await withUploads { fixture async throws in
            let first = try await fixture.ann.uploaded(SampleImage.png(seed: 1))
            let second = try await fixture.ann.uploaded(SampleImage.png(seed: 2))
            let ann = try await fixture.person("ann")
            let pool = fixture.fixture.service.database.pool
            let path = try await pool.transaction {
                try await UploadStore(db: $0).claimPicture(first.uploadId, of: ann)
            }
            #expect(first.thumbnailUrl.hasSuffix(path))
            await #expect(throws: APIError(.conflict, "upload_already_used", "an upload can be used only once")) {
                try await fixture.ann.photos.post(PostDraft(uploadIds: [first.uploadId]))
            }
            _ = try await pool.transaction { try await UploadStore(db: $0).claimPicture(second.uploadId, of: ann) }
            #expect(try await fixture.bob.fetch(first.thumbnailUrl).status == 404)
            #expect(try await fixture.bob.fetch(second.thumbnailUrl).status == 200)
            try await pool.transaction { try await UploadStore(db: $0).deletePicture(of: ann) }
            try await fixture.expectNoFiles()
        }
    }

    @Test func foreignUpload() async throws {
        try await withUploads { fixture async throws in
            let upload = try await fixture.ann.uploaded(SampleImage.png())
            _ = try await fixture.bob.uploaded(SampleImage.png())
            let bob = try await fixture.person("bob")
            await #expect(throws: UploadStore<PostgresPool>.notFound) {
                try await UploadStore(db: fixture.fixture.service.database.pool).claimPicture(upload.uploadId, of: bob)
            }
        }
    }

    @Test func accountDeletion() async throws {
        try await withUploads { fixture async throws in
            let uploads = [
                try await fixture.ann.uploaded(SampleImage.png(seed: 1)),
                try await fixture.ann.uploaded(SampleImage.png(seed: 2)),
                try await fixture.ann.uploaded(SampleImage.png(seed: 3)),
            ]
            let ann = try await fixture.person("ann")
            let pool = fixture.fixture.service.database.pool
            _ = try await fixture.ann.photos.post(PostDraft(uploadIds: [uploads[0].uploadId]))
            _ = try await UploadStore(db: pool).claimPicture(uploads[1].uploadId, of: ann)
            try await pool.transaction { try await UploadStore(db: $0).deleteAll(of: ann) }
            for upload in uploads { #expect(try await fixture.bob.fetch(upload.url).status == 404) }
            try await fixture.expectNoFiles()
        }
    }
}

extension UploadFixture {
    fileprivate func person(_ name: String) async throws -> Person.ID {
        let row = try await fixture.rows("SELECT person_id::text AS row FROM people WHERE user_id = '\(name)'")[0]
        return Person.ID(try #require(Int64(row)))
    }
}
