import Blobs
import Foundation
import NIOCore

/// Checks the blob store; with a bucket, writes, reads and deletes a test blob.
struct BlobChecks: Sendable {
    private static let permissions = """
        allow the key s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload on the objects, \
        s3:ListBucket and s3:ListBucketMultipartUploads on the bucket
        """

    let workspace: Workspace
    let settings: SuiteSettings

    func findings() async -> [Finding] {
        guard let bucket = given("S3_BUCKET") else {
            guard given("S3_ENDPOINT") == nil else {
                return [.failure("S3_ENDPOINT is set, but S3_BUCKET is not", "set both or neither")]
            }
            return [.ok("files are stored in \(settings.uploads(in: workspace))")]
        }
        for name in ["S3_ACCESS_KEY", "S3_SECRET_KEY"] where given(name) == nil {
            return [.failure("S3_BUCKET is set, but \(name) is not", "set it to the bucket's key")]
        }
        // The folder for the parts of the test blob before they are sent.
        let folder = "\(NSTemporaryDirectory())/roost-doctor-\(UUID().uuidString)"
        // A failure is ignored, because the folder is temporary.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let configuration = configuration(of: bucket, parts: folder)
        let location = "the bucket \(bucket) at \(configuration.endpoint)"
        do {
            return [try await probe(S3BlobStore(configuration), location)]
        } catch {
            return [.failure("\(location) cannot be used: \(error)", Self.remedy(for: error))]
        }
    }

    private func configuration(of bucket: String, parts folder: String) -> S3Configuration {
        let region = given("S3_REGION") ?? "us-east-1"
        var s3 = S3Configuration(
            endpoint: given("S3_ENDPOINT") ?? "https://s3.\(region).amazonaws.com",
            bucket: bucket,
            region: region,
            accessKey: given("S3_ACCESS_KEY") ?? "",
            secretKey: given("S3_SECRET_KEY") ?? "",
            temporaryFolder: folder
        )
        let prefix = given("S3_PREFIX") ?? ""
        s3.prefix = (prefix.isEmpty || prefix.hasSuffix("/") ? prefix : prefix + "/") + "doctor/"
        s3.trustedAuthorities = given("TRUSTED_CA").map(Self.authorities)
        // The operator waits for the result.
        (s3.attempts, s3.timeout) = (1, .seconds(10))
        return s3
    }

    /// Returns PEM text that is given in one line, in several lines, or as the path of a file.
    private static func authorities(_ setting: String) -> String {
        guard !setting.contains("-----BEGIN") else { return setting.replacing("\\n", with: "\n") }
        // An unreadable file yields no certificates, and the store reports that.
        return (try? String(contentsOfFile: setting, encoding: .utf8)) ?? ""
    }

    private func probe(_ store: S3BlobStore, _ location: String) async throws -> Finding {
        let (key, text) = (BlobKey.random(), "written by roost doctor")
        _ = try await store.put(key, limit: 100) { try await $0.write(ByteBuffer(string: text)) }
        let read: ByteBuffer
        do {
            read = try await bytes(of: key, in: store)
        } catch {
            // A failure is ignored, because the read error is reported.
            try? await store.delete(key)
            throw error
        }
        try await store.delete(key)
        guard String(buffer: read) == text else {
            return .failure("\(location) returned different data", "check which other program writes there")
        }
        guard try await store.open(key) == nil else {
            return .failure(
                "\(location) does not delete blobs",
                "check for a program that restores blobs, such as a mirror"
            )
        }
        return .ok("files are stored in \(location): writing, reading and deleting work")
    }

    private func bytes(of key: BlobKey, in store: S3BlobStore) async throws -> ByteBuffer {
        var read = ByteBuffer()
        try await store.open(key)?.read(0..<100) { read.writeImmutableBuffer($0) }
        return read
    }

    static func remedy(for error: any Error) -> String {
        switch error {
        case S3ConfigurationError.endpoint: "S3_ENDPOINT must be https://host, without a path"
        case S3ConfigurationError.bucket: "S3_BUCKET is not a valid bucket name"
        case S3ConfigurationError.prefix:
            "S3_PREFIX must be names of letters, digits, -, _ and ., separated by slashes"
        case S3ConfigurationError.trustedAuthorities: "TRUSTED_CA contains no readable certificates"
        case BlobError.noSpace: "free space in the bucket, or raise its quota"
        case BlobError.unavailable(let reason): Self.remedy(forRefusal: reason)
        default: "check the log of the store"
        }
    }

    /// Returns the remedy for an S3 error code (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html).
    private static func remedy(forRefusal reason: String) -> String {
        let remedies = [
            ("NoSuchBucket", "create the bucket; Roost does not create it"),
            ("InvalidAccessKeyId", "check S3_ACCESS_KEY: the key does not exist"),
            ("SignatureDoesNotMatch", "check S3_SECRET_KEY and S3_REGION"),
            ("AuthorizationHeaderMalformed", "check S3_REGION"),
            ("PermanentRedirect", "check S3_REGION and S3_ENDPOINT: the bucket is at another address"),
            ("RequestTimeTooSkewed", "synchronize the clocks: they differ too much"),
            ("AccessDenied", permissions),
        ]
        return remedies.first { reason.contains($0.0) }?.1 ?? "check S3_ENDPOINT and the network"
    }

    private func given(_ name: String) -> String? { settings.given[name].flatMap { $0.isEmpty ? nil : $0 } }
}
