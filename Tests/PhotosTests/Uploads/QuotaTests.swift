import Foundation
import HTTPTypes
import PhotosAPI
import ServiceClient
import TestSupport
import Testing
import Wire

@Suite("Storage quota of photos") struct QuotaTests {
    @Test("A user at the quota gets 507, and uploads again after deleting a post")
    func growth() async throws {
        try await withUploads { fixture async throws in
            // The size of an image depends on the encoder, so the quota is set to two and a half images.
            let first = try await fixture.ann.uploaded(SampleImage.png(400, 300, seed: 1))
            let size = try await fixture.stored()
            #expect(size > 0)
            try await withSecondInstance(
                of: fixture.fixture,
                settings: ["BLOBS_PATH": fixture.folder, "STORAGE_QUOTA_BYTES": "\(size * 5 / 2)"]
            ) { service in
                let post = try await fixture.ann.photos.post(PostDraft(uploadIds: [first.uploadId]))
                #expect(try await fixture.ann.upload(SampleImage.png(400, 300, seed: 2), at: service).status == 200)
                for seed in 3..<6 as Range<UInt8> {
                    let refused = try await fixture.ann.upload(SampleImage.png(400, 300, seed: seed), at: service)
                    #expect(refused.status == 507)
                    #expect(refused.problem?.code == "storage_quota_exceeded")
                }
                // Uploading the same bytes again uses no more storage.
                #expect(try await fixture.ann.upload(SampleImage.png(400, 300, seed: 2), at: service).status == 200)
                let begun = try await fixture.ann.begin(Int(size), at: service)
                #expect(begun.status == 507, "\(begun.text)")
                #expect(try await fixture.bob.upload(SampleImage.png(400, 300, seed: 9), at: service).status == 200)

                try await fixture.ann.photos.delete(post.postId)
                #expect(try await fixture.ann.upload(SampleImage.png(400, 300, seed: 3), at: service).status == 200)
            }
        }
    }

    @Test("The counter is the sum of the stored files after concurrent uploads and expiry")
    func exact() async throws {
        try await withUploads { fixture async throws in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for seed in 0..<6 as Range<UInt8> {
                    tasks.addTask { _ = try await fixture.ann.upload(SampleImage.png(200, 100, seed: seed / 2)) }
                }
                try await tasks.waitForAll()
            }
            let kept = try await fixture.fixture.rows("SELECT sum(size)::text AS row FROM blobs WHERE due_at IS NULL")
            #expect(kept == ["\(try await fixture.stored())"])
            try await fixture.run("UPDATE uploads SET expires_at = clock_timestamp() - interval '1 second'")
            try await eventually(within: .seconds(60)) { try await fixture.count("uploads") == 0 }
            #expect(try await fixture.count("stored_bytes") == 0)
        }
    }
}

extension UploadFixture {
    /// Returns the bytes that count towards Ana's quota.
    fileprivate func stored() async throws -> Int64 {
        let rows = try await fixture.rows(
            """
            SELECT bytes::text AS row FROM stored_bytes JOIN people ON person_id = owner_id
            WHERE user_id = 'ann'
            """
        )
        return rows.first.flatMap { Int64($0) } ?? 0
    }
}

extension TestUser {
    fileprivate func upload(_ bytes: [UInt8], at service: TestService) async throws -> TestHTTPResponse {
        let headers: HTTPFields = [.authorization: "Bearer \(token)", .contentType: "image/png"]
        let request = ServiceRequest(method: .post, path: "/photos/uploads", headers: headers, body: Data(bytes))
        return TestHTTPResponse(try await service.transport.send(request))
    }

    fileprivate func begin(_ length: Int, at service: TestService) async throws -> TestHTTPResponse {
        let headers: HTTPFields = [
            .authorization: "Bearer \(token)", .tusResumable: "1.0.0", .uploadLength: "\(length)",
        ]
        let request = ServiceRequest(method: .post, path: "/photos/uploads/tus", headers: headers, body: nil)
        return TestHTTPResponse(try await service.transport.send(request))
    }
}

// Names of RFC 9110's token characters alone always parse.
// swift-format-ignore: NeverForceUnwrap
extension HTTPField.Name {
    fileprivate static let tusResumable = HTTPField.Name("Tus-Resumable")!
    fileprivate static let uploadLength = HTTPField.Name("Upload-Length")!
}
