@testable import Blobs
import Foundation
import TestSupport
import Testing

/// A bucket of a real server, with a prefix of the test's own.
struct S3Fixture {
    static let partSize = 5_242_880

    let server: S3Server
    let configuration: S3Configuration

    func store(_ change: (inout S3Configuration) -> Void = { _ in }) throws -> S3BlobStore {
        var configuration = configuration
        change(&configuration)
        return try S3BlobStore(configuration)
    }

    /// The names of all objects, without the prefix.
    func objects() async throws -> [String] {
        try await server.objects(below: configuration.prefix).map { String($0.dropFirst(configuration.prefix.count)) }
    }

    /// The uploads of a blob that were neither completed nor aborted.
    func uploads(of key: BlobKey) async throws -> [String] {
        try await S3Connection(configuration).uploads(of: key)
    }
}

/// A bucket that other tests share, or the one of `server`, which the test controls.
func withBucket(of server: S3Server? = nil, _ body: (S3Fixture) async throws -> Void) async throws {
    let shared = if let server { server } else { try await S3Server.shared() }
    let name = UUID().uuidString
    let folder = NSTemporaryDirectory() + "parts-\(name)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var configuration = S3Configuration(
        endpoint: shared.endpoint,
        bucket: S3Server.bucket,
        accessKey: S3Server.accessKey,
        secretKey: S3Server.secretKey,
        temporaryFolder: folder
    )
    configuration.prefix = "\(name)/deeper/"
    configuration.partSize = S3Fixture.partSize
    configuration.pause = .milliseconds(5)
    try await body(S3Fixture(server: shared, configuration: configuration))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
}
