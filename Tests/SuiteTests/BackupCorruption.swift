import Foundation
import Testing

/// Kinds of damage to a backup, with the error message of each.
enum BackupCorruption {
    typealias Damage = @Sendable (_ path: String) throws -> Void

    static let all: [(Damage, message: String)] = [
        ({ try flip(byte: 100, of: "\($0)/auth.dump") }, "auth.dump has changed since the backup"),
        ({ try cut("\($0)/conversations.dump") }, "instead of"),
        ({ try FileManager.default.removeItem(atPath: "\($0)/auth.dump") }, "auth.dump is missing"),
        ({ try FileManager.default.removeItem(atPath: "\($0)/manifest.json") }, "has no manifest.json"),
        ({ try flip(byte: 40, of: "\($0)/manifest.json") }, "manifest.json has changed since the backup"),
        ({ try rewrite($0) { _ in "{}" } }, "is not a backup's manifest"),
        (
            { try rewrite($0) { $0.replacing("\"format\" : 1", with: "\"format\" : 2") } },
            "written by a newer release (format 2)"
        ),
    ]

    /// Changes the manifest and its checksum.
    static func rewrite(_ path: String, _ change: (String) -> String) throws {
        let manifest = "\(path)/manifest.json"
        let old = try String(contentsOfFile: manifest, encoding: .utf8)
        try change(old).write(toFile: manifest, atomically: true, encoding: .utf8)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/sha256sum")
        process.arguments = ["manifest.json"]
        process.currentDirectoryURL = URL(filePath: path)
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let sum = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        let sums = "\(path)/SHA256SUMS"
        let others = try String(contentsOfFile: sums, encoding: .utf8).split(separator: "\n")
            .filter { !$0.hasSuffix("manifest.json") }
        let text = others.map { "\($0)\n" }.joined() + String(decoding: sum, as: UTF8.self)
        try text.write(toFile: sums, atomically: true, encoding: .utf8)
    }

    private static func flip(byte: UInt64, of path: String) throws {
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.seek(toOffset: byte)
        let old = try #require(try file.read(upToCount: 1)?.first)
        try file.seek(toOffset: byte)
        try file.write(contentsOf: Data([old ^ 1]))
        try file.close()
    }

    private static func cut(_ path: String) throws {
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.truncate(atOffset: file.seekToEnd() / 2)
        try file.close()
    }
}
