import ChildProcesses
import Foundation
import TestSupport
import Testing

/// Independent programs that make the sample files and inspect the prepared images (scripts/image-oracle.py).
enum Oracle {
    /// The properties that Pillow and exiftool report for a file.
    struct Inspection: Decodable {
        var format: String
        var width: Int
        var height: Int
        var frames: Int
        /// In milliseconds.
        var durations: [Int]
        var loop: Int
        var hasAlpha: Bool
        var mode: String
        /// A digest of the colour profile.
        var profile: String?
        /// The mean colours of the four corners, left to right and down.
        var corners: [[Int]]
        /// The tags that exiftool reports, each with its group.
        var tags: [String]
        /// Whether a tag contains the private data of the samples.
        var secrets: Bool
    }

    private static let script = "\(PythonPrograms.scripts)/image-oracle.py"

    private static let ready = Task {
        let program = try await PythonPrograms.path("images")
        let folder = URL(filePath: PythonPrograms.scripts).deletingLastPathComponent()
            .appending(path: ".venv/image-samples").path(percentEncoded: false)
        _ = try await run(program, [script, "make", folder])
        return (program, folder)
    }

    /// Returns the path of a sample.
    static func sample(_ name: String) async throws -> String { try await "\(ready.value.1)/\(name)" }

    static func inspect(_ paths: String...) async throws -> [Inspection] {
        let output = try await run(ready.value.0, [script, "look"] + paths)
        return try JSONDecoder().decode([Inspection].self, from: Data(output.utf8))
    }

    private static func run(_ program: String, _ arguments: [String]) async throws -> String {
        let command = ProcessCommand(program, arguments, environment: ProcessInfo.processInfo.environment)
        let (status, output) = try await command.run(within: .seconds(300))
        try #require(status.isSuccess, "\(program) \(arguments): \(output)")
        return output
    }
}
