import Blobs
import Foundation
import TestSupport
import Testing

@testable import roost

/// The checks of `roost doctor` for the storage of files, with a real store.
@Suite("Checks of file storage") struct BlobChecksTests {
    private static func findings(_ given: [String: String]) async throws -> Finding {
        let workspace = try Workspace(root: NSTemporaryDirectory())
        let settings = SuiteSettings(given: given, secrets: Secrets(values: [:]))
        let findings = await BlobChecks(workspace: workspace, settings: settings).findings()
        try #require(findings.count == 1)
        return findings[0]
    }

    @Test("A usable bucket is reported, and the check leaves no object")
    func usableBucket() async throws {
        let server = try await S3Server.shared()
        let finding = try await Self.findings(server.settings.merging(["S3_PREFIX": "doctored"]) { $1 })

        #expect(finding.severity == .ok, "\(finding.lines)")
        #expect(finding.text.contains("the bucket \(S3Server.bucket) at \(server.endpoint)"))
        #expect(try await server.objects(below: "doctored/").isEmpty)
    }

    @Test(
        "A failed check names the setting to correct and shows no secret",
        arguments: [
            ("S3_SECRET_KEY", "guessed", "check S3_SECRET_KEY"),
            ("S3_ACCESS_KEY", "guessed", "check S3_ACCESS_KEY"), ("S3_BUCKET", "No Bucket", "S3_BUCKET is not a valid"),
            ("S3_ENDPOINT", "http://127.0.0.1:1", "check S3_ENDPOINT"), ("S3_PREFIX", "../up", "S3_PREFIX must be"),
            ("S3_ENDPOINT", "127.0.0.1", "S3_ENDPOINT must be"),
            ("TRUSTED_CA", "/nonexistent", "TRUSTED_CA contains no"),
        ]
    )
    func remedies(setting: String, value: String, remedy: String) async throws {
        let server = try await S3Server.shared()
        let finding = try await Self.findings(server.settings.merging([setting: value]) { $1 })

        #expect(finding.severity == .failure)
        #expect(finding.remedy?.contains(remedy) == true, "\(finding.lines)")
        #expect(!finding.lines.contains(S3Server.secretKey))
    }

    /// With the responses of Amazon, because the test server makes any bucket on request and denies nothing.
    @Test(
        "An error of Amazon's S3 has a specific remedy",
        arguments: [
            ("404 NoSuchBucket", "create the bucket"), ("403 AccessDenied", "s3:PutObject"),
            ("403 RequestTimeTooSkewed", "clocks"), ("301 PermanentRedirect", "S3_REGION"),
        ]
    )
    func amazonErrors(answer: String, remedy: String) {
        let error = BlobError.unavailable("s3.amazonaws.com: \(answer) to \"put a blob\"")
        #expect(BlobChecks.remedy(for: error).contains(remedy))
    }

    @Test("A bucket with a missing setting is a failure that names it, and no bucket is fine")
    func incompleteSettings() async throws {
        let server = try await S3Server.shared()
        for name in ["S3_BUCKET", "S3_ACCESS_KEY", "S3_SECRET_KEY"] {
            let finding = try await Self.findings(server.settings.filter { $0.key != name })
            #expect(finding.severity == .failure, "\(finding.lines)")
            #expect(finding.text.contains(name), "\(finding.lines)")
        }
        #expect(try await Self.findings([:]).severity == .ok)
    }
}
