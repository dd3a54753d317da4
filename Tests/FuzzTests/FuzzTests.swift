import Foundation
import TestSupport
import Testing

/// A short and deterministic form of `make fuzz`, which runs the same targets with libFuzzer.
@Suite("Parsers of untrusted input", .serialized) struct FuzzTests {
    static let targets = FuzzTarget.all + [.busMessage]
    private static let corpus = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Fuzz/Corpus")
    /// Pieces that open a level of nesting, or that a parser may scan again and again.
    private static let pieces: [[UInt8]] =
        [
            "[", "{\"\":", "{\"a\":[", "[],", "\"", "\\", "\\u", "<", "<p>", "<Key ", "&", "&#", "#", "#a", "\n",
            "\r\n", "\r", " ", ",", ";", "=", "%", "-", ".", "0", "a", ":\n", "data\n", "--b\r\n", "é", "\u{301}",
            "\u{301}\u{323}", "\u{301}\u{34F}\u{323}", "\u{FDFA}", "👍🏽", "東",
        ].map { Array($0.utf8) } + [[0x00], [0x1E], [0x81], [0x82], [0xA1, 0x01], [0xC0], [0xFF], [0xFF, 0xD8]]

    @Test("No parser traps on its corpus or on damaged copies of it", arguments: targets)
    func corpus(_ target: FuzzTarget) async throws {
        let seeds = try Self.seeds(of: target)
        #expect(!seeds.isEmpty)
        await onSmallStack {
            var mutator = Mutator(seed: 0x5EED)
            for seed in seeds {
                target.run(seed)
                for _ in 0..<200 { target.run(mutator.mutate(seed)) }
            }
        }
    }

    @Test("Input that repeats one piece takes no deep recursion and no quadratic time", arguments: targets)
    func repetition(_ target: FuzzTarget) async throws {
        let seeds = try Self.seeds(of: target)
        let slowest = await onSmallStack {
            var mutator = Mutator(seed: 0xFEED)
            var slowest = (seconds: 0.0, start: [UInt8]())
            let repeated = seeds.flatMap { seed in (0..<2).map { _ in mutator.repeatPiece(of: seed, upTo: 40_000) } }
            let plain = Self.pieces.map { Array(Array(repeating: $0, count: 40_000 / $0.count).joined()) }
            for bytes in plain + repeated {
                let start = processorTime()
                target.run(bytes)
                let seconds = processorTime() - start
                if seconds > slowest.seconds { slowest = (seconds, Array(bytes.prefix(40))) }
            }
            return slowest
        }
        // A linear parser takes at most a tenth of a second in a debug build.
        #expect(slowest.seconds < 3, "\(slowest.seconds) s for \(String(decoding: slowest.start, as: UTF8.self))…")
    }

    @Test("Each folder of the corpus belongs to a target")
    func folders() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path(percentEncoded: false))
        #expect(Set(folders) == Set(Self.targets.map(\.name)))
    }

    private static func seeds(of target: FuzzTarget) throws -> [[UInt8]] {
        let folder = corpus.appending(path: target.name)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false)).sorted()
        return try names.map { try Array(Data(contentsOf: folder.appending(path: $0))) }
    }
}

/// Returns the processor time of this thread in seconds.
private func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Runs work on a thread with a stack of 512 kB, as tasks of the cooperative pool have.
private func onSmallStack<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        let thread = Thread { continuation.resume(returning: work()) }
        thread.stackSize = 512 * 1_024
        thread.start()
    }
}
