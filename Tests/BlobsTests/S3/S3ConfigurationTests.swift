import Blobs
import Foundation
import Testing

@Suite("Configuration of S3") struct S3ConfigurationTests {
    @Test(
        "A malformed endpoint is refused",
        arguments: [
            "", "s3.example.org", "ftp://a", "https://", "https://a/b", "https://u@a", "https://a?b", "https://a b",
        ]
    )
    func malformedEndpoint(endpoint: String) {
        #expect(throws: S3ConfigurationError.endpoint) { try store { $0.endpoint = endpoint } }
    }

    @Test(
        "A malformed bucket name is refused",
        arguments: ["", "ab", "Upper", "a_b", "a/b", "a..b", String(repeating: "a", count: 64)]
    )
    func malformedBucket(bucket: String) {
        #expect(throws: S3ConfigurationError.bucket) { try store { $0.bucket = bucket } }
    }

    @Test("A malformed prefix is refused", arguments: ["a", "/", "/a/", "a//b/", "../", "a/./", "ä/", "a b/", "a%20/"])
    func malformedPrefix(prefix: String) {
        #expect(throws: S3ConfigurationError.prefix) { try store { $0.prefix = prefix } }
    }

    @Test("A malformed certificate authority is refused")
    func malformedCertificate() {
        #expect(throws: S3ConfigurationError.trustedAuthorities) { try store { $0.trustedAuthorities = "nothing" } }
    }

    @Test(
        "Valid endpoints and prefixes are accepted",
        arguments: ["https://s3.eu-central-1.amazonaws.com", "http://127.0.0.1:8333", "http://[::1]:8333"]
    )
    func validConfigurations(endpoint: String) throws {
        try store {
            $0.endpoint = endpoint
            $0.prefix = "a/B_c-1.2/"
        }
    }

    private func store(_ change: (inout S3Configuration) -> Void) throws {
        let folder = NSTemporaryDirectory() + "parts-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var configuration = S3Configuration(
            endpoint: "http://127.0.0.1:1",
            bucket: "bucket",
            accessKey: "a",
            secretKey: "b",
            temporaryFolder: folder
        )
        change(&configuration)
        _ = try S3BlobStore(configuration)
    }
}
