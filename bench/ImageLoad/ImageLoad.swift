import ArgumentParser
import Foundation
import Images
import Synchronization

/// Processes images in a number of workers, and prints the rate and the memory as JSON.
@main struct ImageLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "image-load")

    @Option(help: "The number of workers.") var workers = 2
    @Option(help: "How often each file is processed.") var rounds = 10
    @Option(help: "The output folder. Each round replaces the files of the previous round.") var folder: String
    @Argument(help: "The image files.") var files: [String]

    func run() async throws {
        let program = try ImageProcessorConfiguration.workerNextToExecutable()
        let imageProcessor = ImageProcessor(ImageProcessorConfiguration(worker: program, workers: workers))
        // This round starts the workers before the measurement.
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
            for worker in 0..<workers {
                let own = "\(folder)/\(worker)"
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

    /// Returns the peak resident memory of each worker in bytes, including libraries (`proc(5)`, VmHWM).
    private static func peakMemory(of program: String) throws -> [Int] {
        let own = ProcessInfo.processInfo.processIdentifier
        return try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { entry in
            // A process may end between the listing and the read.
            guard let status = try? String(contentsOfFile: "/proc/\(entry)/status", encoding: .utf8) else { return nil }
            func value(_ name: String) -> Int? {
                let line = status.split(separator: "\n").first { $0.hasPrefix("\(name):") }
                return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
            }
            return value("PPid") == Int(own) ? value("VmHWM").map { $0 * 1_024 } : nil
        }
    }
}

private final class Counter: Sendable {
    private let next = Atomic(0)

    func below(_ limit: Int) -> Int? {
        let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
        return number < limit ? number : nil
    }
}
