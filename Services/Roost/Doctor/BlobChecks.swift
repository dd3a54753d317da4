import Blobs
import Foundation
import NIOCore

/// Where files are kept: with a bucket, whether a blob can be put there, read back and deleted.
struct BlobChecks: Sendable {
    /// What the key must be allowed; see `S3BlobStore`.
    private static let permissions = """
        allow the key s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload on the objects, \
        s3:ListBucket and s3:ListBucketMultipartUploads on the bucket
        """

    let workspace: Workspace
    let settings: SuiteSettings

    func findings() async -> [Finding] {
        guard let bucket = given("S3_BUCKET") else {
            guard given("S3_ENDPOINT") == nil else {
                return [.failure("S3_ENDPOINT is set, and S3_BUCKET is not", "set both, or neither")]
            }
            return [.ok("files are kept in \(settings.uploads(in: workspace))")]
        }
        for name in ["S3_ACCESS_KEY", "S3_SECRET_KEY"] where given(name) == nil {
            return [.failure("S3_BUCKET is set, and \(name) is not", "set it to the bucket's key")]
        }
        // What a probe puts there until it is sent.
        let folder = "\(NSTemporaryDirectory())/roost-doctor-\(UUID().uuidString)"
        // Silence: it is a temporary folder.
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
        // He who asks is waiting.
        (s3.attempts, s3.timeout) = (1, .seconds(10))
        return s3
    }

    /// PEM, in one line or in several, or the path of a file of it.
    private static func authorities(_ setting: String) -> String {
        guard !setting.contains("-----BEGIN") else { return setting.replacing("\\n", with: "\n") }
        // Silence: text without a certificate is found to be none.
        return (try? String(contentsOfFile: setting, encoding: .utf8)) ?? ""
    }

    /// Leaves nothing behind.
    private func probe(_ store: S3BlobStore, _ location: String) async throws -> Finding {
        let (key, text) = (BlobKey.random(), "written by roost doctor")
        _ = try await store.put(key, limit: 100) { try await $0.write(ByteBuffer(string: text)) }
        let read: ByteBuffer
        do {
            read = try await bytes(of: key, in: store)
        } catch {
            // Silence: what it read like is what is told.
            try? await store.delete(key)
            throw error
        }
        try await store.delete(key)
        guard String(buffer: read) == text else {
            return .failure("\(location) gives back something else than was put there", "see who else writes there")
        }
        guard try await store.open(key) == nil else {
            return .failure(
                "\(location) keeps what is deleted",
                "see whether something brings it back, as a mirror does"
            )
        }
        return .ok("files are kept in \(location): put, read back and deleted")
    }

    private func bytes(of key: BlobKey, in store: S3BlobStore) async throws -> ByteBuffer {
        var read = ByteBuffer()
        try await store.open(key)?.read(0..<100) { read.writeImmutableBuffer($0) }
        return read
    }

    static func remedy(for error: any Error) -> String {
        switch error {
        case S3ConfigurationError.endpoint: "S3_ENDPOINT must be https://host, without a path"
        case S3ConfigurationError.bucket: "S3_BUCKET is no name of a bucket"
        case S3ConfigurationError.prefix:
            "S3_PREFIX must be names of letters, digits, -, _ and ., with slashes between"
        case S3ConfigurationError.trustedAuthorities: "TRUSTED_CA holds no certificates that can be read"
        case BlobError.noSpace: "make room in the bucket, or raise its quota"
        case BlobError.unavailable(let reason): Self.remedy(forRefusal: reason)
        default: "see what the store's own log says"
        }
    }

    /// By S3's own word for it (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html).
    private static func remedy(forRefusal reason: String) -> String {
        let remedies = [
            ("NoSuchBucket", "make the bucket: Roost makes none"),
            ("InvalidAccessKeyId", "check S3_ACCESS_KEY: nobody has such a key there"),
            ("SignatureDoesNotMatch", "check S3_SECRET_KEY, and S3_REGION"),
            ("AuthorizationHeaderMalformed", "check S3_REGION"),
            ("PermanentRedirect", "check S3_REGION and S3_ENDPOINT: the bucket is elsewhere"),
            ("RequestTimeTooSkewed", "run a time service: the clocks here and there are too far apart"),
            ("AccessDenied", permissions),
        ]
        return remedies.first { reason.contains($0.0) }?.1 ?? "check S3_ENDPOINT, and the way there"
    }

    private func given(_ name: String) -> String? { settings.given[name].flatMap { $0.isEmpty ? nil : $0 } }
}
