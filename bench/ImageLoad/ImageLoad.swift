import ArgumentParser
import Foundation
import Images
import Synchronization

/// Prepares images one after another in as many workers as asked for, and says as JSON how fast and at what cost.
@main struct ImageLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "image-load")

    @Option(help: "How many workers.") var workers = 2
    @Option(help: "How often each file is prepared.") var rounds = 10
    @Option(help: "Where pictures are written; each round replaces those of the one before.") var folder: String
    @Argument(help: "The images.") var files: [String]

    func run() async throws {
        let program = try ImageProcessorConfiguration.workerNextToExecutable()
        let imageProcessor = ImageProcessor(ImageProcessorConfiguration(worker: program, workers: workers))
        // Workers are there before the clock runs.
        try await prepare(imageProcessor, rounds: 1)
        let began = ContinuousClock.now
        try await prepare(imageProcessor, rounds: rounds)
        let took = ContinuousClock.now - began
        let memory = try Self.peakMemory(of: program)
        await imageProcessor.close()
        let report = [
            "perSecond": Double(files.count * rounds) / (took / .seconds(1)), "peakBytes": Double(memory.max() ?? 0),
            "workers": Double(memory.count),
        ]
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        print(String(decoding: try encoder.encode(report), as: UTF8.self))
    }

    private func prepare(_ imageProcessor: ImageProcessor, rounds: Int) async throws {
        let next = Counter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<workers {
                let own = "\(folder)/\(lane)"
                try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
                group.addTask { [files] in
                    while let number = next.below(rounds * files.count) {
                        _ = try await imageProcessor.prepare(files[number % files.count], into: own)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// The most memory that each worker has had at once, libraries included, in bytes (`proc(5)`, VmHWM).
    private static func peakMemory(of program: String) throws -> [Int] {
        let own = ProcessInfo.processInfo.processIdentifier
        return try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { entry in
            // Silence: processes come and go.
            guard let status = try? String(contentsOfFile: "/proc/\(entry)/status", encoding: .utf8) else { return nil }
            func value(_ name: String) -> Int? {
                let line = status.split(separator: "\n").first { $0.hasPrefix("\(name):") }
                return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
            }
            return value("PPid") == Int(own) ? value("VmHWM").map { $0 * 1_024 } : nil
        }
    }
}

/// Gives each number once, from 0.
private final class Counter: Sendable {
    private let next = Atomic(0)

    func below(_ limit: Int) -> Int? {
        let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
        return number < limit ? number : nil
    }
}
