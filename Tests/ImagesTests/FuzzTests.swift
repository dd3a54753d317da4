import Foundation
import Testing

@testable import ImageWork
@testable import Images

/// Damaged files: whatever they do to a worker, the service makes something sound of them or says why not.
@Suite struct FuzzTests {
    private static let samples = [
        "small.jpg", "grey.jpg", "progressive.jpg", "onebit.png", "palette.png", "sixty.gif", "still.gif",
        "moving.webp",
        "alpha.webp", "photo.heic",
    ]
    /// How many mutants of each sample; SOAK=1 is for a night.
    private static let rounds = ProcessInfo.processInfo.environment["SOAK"] == "1" ? 5_000 : 25

    @Test(arguments: samples) func aMutantIsPreparedOrRefused(_ name: String) async throws {
        let original = try await Array(Data(contentsOf: URL(filePath: Oracle.sample(name))))
        try await withImages { scene in
            var mutator = Mutator(seed: 0x5EED)
            for round in 0..<Self.rounds {
                let path = try scene.file(mutator.mutate(original))
                let folder = try scene.newFolder()
                let outcome = await Self.outcome { () throws(ImageError) in
                    try await scene.workshop.prepare(path, into: folder)
                }
                switch outcome {
                case .success(let image): #expect(image.full.width <= 1_280 && image.full.height <= 1_280)
                case .failure(.failed(let reason)): Issue.record("\(name), mutant \(round): \(reason)")
                case .failure: #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
                }
                try FileManager.default.removeItem(atPath: path)
            }
            #expect(try await scene.prepare("small.jpg").width == 40)
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

    /// Readers of headers get many more, without a worker between them and the test.
    @Test("No damaged header makes its reader trap", arguments: samples) func headers(_ name: String) async throws {
        let original = try await Array(Data(contentsOf: URL(filePath: Oracle.sample(name))).prefix(20_000))
        let path = "\(NSTemporaryDirectory())/roost-fuzz-\(UUID().uuidString)"
        defer { unlink(path) }
        var mutator = Mutator(seed: 0xFEED)
        for _ in 0..<Self.rounds * 40 {
            try Data(mutator.mutate(original)).write(to: URL(filePath: path))
            // Silence: most are refused.
            if let header = try? ImageFiles.header(of: path) {
                #expect(header.width > 0 && header.height > 0 && header.frames > 0)
            }
        }
    }

    /// A worker with a stranger's code in it may say anything.
    @Test func noAnswerIsTooMuchForTheService() {
        var mutator = Mutator(seed: 0xBEEF)
        let picture = Rendering.Picture(format: .jpeg, width: 4, height: 4)
        let sample = [UInt8](repeating: 7, count: 48)
        let answer = RenderingAnswer.made(
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
        let others: [RenderingAnswer] = [
            answer, .ready(missing: []), .ready(missing: ["Landlock", "seccomp"]), .needs(memory: 7), .notWritten(28),
            .refused(.unsupported(reason: "is text")), .refused(.broken(reason: "")), .refused(.tooManyPixels),
            .refused(.tooManyFrames),
        ]
        for answer in others {
            #expect(RenderingAnswer(encoded: answer.encoded) == answer)
        }
        let unsafe = RenderingAnswer.refused(.broken(reason: "says <b>\u{1B}[31m"))
        #expect(RenderingAnswer(encoded: unsafe.encoded) == nil)
        for _ in 0..<20_000 {
            if case .made(let rendering) = RenderingAnswer(encoded: mutator.mutate(answer.encoded)) {
                #expect(rendering.sample.count == rendering.sampleWidth * rendering.sampleHeight * 3)
            }
        }
    }
}

/// Damage, the same each time.
struct Mutator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    mutating func mutate(_ original: [UInt8]) -> [UInt8] {
        var bytes = original
        for _ in 0..<Int.random(in: 1...8, using: &self) where bytes.count > 16 {
            // Half of the damage is where the structure is.
            let end = Bool.random(using: &self) ? min(bytes.count, 600) : bytes.count
            let at = Int.random(in: 0..<end, using: &self)
            let length = min(Int.random(in: 1...64, using: &self), bytes.count - at)
            switch Int.random(in: 0..<6, using: &self) {
            case 0: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &self)
            case 1: bytes[at] = [0x00, 0xFF, 0x7F, 0x80].randomElement(using: &self) ?? 0
            case 2: bytes.removeSubrange(at..<at + length)
            case 3: bytes.insert(contentsOf: Array(bytes[at..<at + length]), at: at)
            case 4: bytes.removeLast(min(length * 20, bytes.count / 2))
            default:
                for index in at..<at + length {
                    bytes[index] = UInt8.random(in: 0...255, using: &self)
                }
            }
        }
        return bytes
    }
}
