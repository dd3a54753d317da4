import Foundation
import Synchronization
import TestSupport

/// A script of `scripts/` with real clients, which says on a line each how far it is and is told by lines to go on.
final class PythonClients: Sendable {
    private struct State {
        var output = ""
        /// Up to here its lines were heard.
        var linesRead = 0
        var status: Int32?
    }

    private let process = Process()
    private let input = Pipe()
    private let state = Mutex(State())

    private init(_ python: String, _ script: String, _ arguments: [String]) throws {
        process.executableURL = URL(filePath: python)
        process.arguments = ["\(PythonPrograms.scripts)/\(script)"] + arguments
        let output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        try process.run()
        // Waiting for what it says must not take a thread of the tests.
        Thread.detachNewThread { [self] in
            while true {
                let data = output.fileHandleForReading.availableData
                guard !data.isEmpty else { break }
                state.withLock { $0.output += String(decoding: data, as: UTF8.self) }
            }
            process.waitUntilExit()
            state.withLock { $0.status = process.terminationStatus }
        }
    }

    /// Runs a script beside what `body` does, and ends it with that; by python-socketio 5, or by what else python-clients has.
    static func with(
        _ script: String,
        _ arguments: [String],
        by clients: String = "5",
        _ body: (PythonClients) async throws -> Void
    ) async throws {
        let clients = try PythonClients(try await PythonPrograms.path(clients), script, arguments)
        defer { clients.process.terminate() }
        do {
            try await body(clients)
        } catch {
            print(clients.output)
            throw error
        }
    }

    var output: String { state.withLock(\.output) }

    /// Tells it a line.
    func sendLine(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
    }

    /// Waits for this line, after what was heard before.
    func waitForLine(_ line: String, within limit: Duration = .seconds(120)) async throws {
        try await eventually(within: limit, "\(line)") {
            try state.withLock { state in
                let lines = state.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
                if let index = lines.dropFirst(state.linesRead).firstIndex(of: line[...]) {
                    state.linesRead = index + 1
                    return true
                }
                guard state.status == nil else { throw SuiteError("ended before it said \(line)") }
                return false
            }
        }
    }

    /// Lets it come to an end, and says what it ended with.
    func end(within limit: Duration = .seconds(120)) async throws -> Int32 {
        try input.fileHandleForWriting.close()
        try await eventually(within: limit, "ended") { state.withLock { $0.status != nil } }
        return state.withLock { $0.status ?? -1 }
    }
}
