import Foundation
import TestSupport
import Testing

@testable import ImageWork
@testable import Images

@Suite("Damaged images") struct FuzzTests {
    private static let samples = [
        "small.jpg", "grey.jpg", "progressive.jpg", "onebit.png", "palette.png", "sixty.gif", "still.gif",
        "moving.webp",
        "alpha.webp", "photo.heic",
    ]
    /// The number of mutants of each sample; with `SOAK=1` the test runs for a night.
    private static let rounds = ProcessInfo.processInfo.environment["SOAK"] == "1" ? 5_000 : 25

    @Test("A damaged file is prepared within the size limits or rejected without leftover files", arguments: samples)
    func mutants(_ name: String) async throws {
        let original = try await Array(Data(contentsOf: URL(filePath: Oracle.sample(name))))
        try await withImages { fixture in
            var mutator = Mutator(seed: 0x5EED)
            for round in 0..<Self.rounds {
                let path = try fixture.file(mutator.mutate(original))
                let folder = try fixture.newFolder()
                let outcome = await Self.outcome { () throws(ImageError) in
                    try await fixture.imageProcessor.prepare(path, into: folder)
                }
                switch outcome {
                case .success(let image): #expect(image.full.width <= 1_280 && image.full.height <= 1_280)
                case .failure(.failed(let reason)): Issue.record("\(name), mutant \(round): \(reason)")
                case .failure: #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
                }
                try FileManager.default.removeItem(atPath: path)
            }
            #expect(try await fixture.prepare("small.jpg").width == 40)
        }
    }

    private static func outcome(
        of work: () async throws(ImageError) -> PreparedImage
    ) async -> Result<PreparedImage, ImageError> {
        do throws(ImageError) {
            return .success(try await work())
        } catch {
            return .failure(error)
        }
    }

    /// Header readers get 40 times the mutants, because no worker is started for them.
    @Test("No damaged header makes its reader trap", arguments: samples)
    func headers(_ name: String) async throws {
        let original = try await Array(Data(contentsOf: URL(filePath: Oracle.sample(name))).prefix(20_000))
        let path = "\(NSTemporaryDirectory())/roost-fuzz-\(UUID().uuidString)"
        defer { unlink(path) }
        var mutator = Mutator(seed: 0xFEED)
        for _ in 0..<Self.rounds * 40 {
            try Data(mutator.mutate(original)).write(to: URL(filePath: path))
            // The error is ignored: most mutants are rejected.
            if let header = try? ImageFiles.header(of: path) {
                #expect(header.width > 0)
                #expect(header.height > 0)
                #expect(header.frames > 0)
            }
        }
    }

    /// A worker that runs an attacker's code can send any response.
    @Test("A response from a compromised worker is validated")
    func hostileResponses() {
        var mutator = Mutator(seed: 0xBEEF)
        let picture = Rendering.Picture(format: .jpeg, width: 4, height: 4)
        let sample = [UInt8](repeating: 7, count: 48)
        let response = RenderResponse.rendered(
            Rendering(
                type: .heic,
                isAnimated: false,
                width: 4,
                height: 4,
                full: picture,
                thumbnail: picture,
                sampleWidth: 4,
                sampleHeight: 4,
                sample: sample
            )
        )
        let others: [RenderResponse] = [
            response, .ready(missing: []), .ready(missing: ["Landlock", "seccomp"]), .needs(memory: 7), .notWritten(28),
            .rejected(.unsupported(reason: "is text")), .rejected(.broken(reason: "")), .rejected(.tooManyPixels),
            .rejected(.tooManyFrames),
        ]
        for response in others {
            #expect(RenderResponse(encoded: response.encoded) == response)
        }
        let unsafe = RenderResponse.rejected(.broken(reason: "says <b>\u{1B}[31m"))
        #expect(RenderResponse(encoded: unsafe.encoded) == nil)
        for _ in 0..<20_000 {
            if case .rendered(let rendering) = RenderResponse(encoded: mutator.mutate(response.encoded)) {
                #expect(rendering.sample.count == rendering.sampleWidth * rendering.sampleHeight * 3)
            }
        }
    }
}
