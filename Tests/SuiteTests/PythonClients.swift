import Foundation
import Synchronization
import TestSupport

/// A script of `scripts/` with real clients, which prints its progress and reads commands, each on a line.
final class PythonClients: Sendable {
    private struct State {
        var output = ""
        /// The number of lines that were read.
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
        // Reading the output blocks, and must not block a thread of the tests.
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

    /// Runs a script while `body` runs, with python-socketio 5 or another environment of python-clients.
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

    /// Sends the script a line.
    func sendLine(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
    }

    /// Waits for a line after the lines that were read.
    func waitForLine(_ line: String, within limit: Duration = .seconds(120)) async throws {
        try await eventually(within: limit, "\(line)") {
            try state.withLock { state in
                let lines = state.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
                if let index = lines.dropFirst(state.linesRead).firstIndex(of: line[...]) {
                    state.linesRead = index + 1
                    return true
                }
                guard state.status == nil else { throw SuiteError("the script ended before it printed \(line)") }
                return false
            }
        }
    }

    /// Ends the script's input, and returns its exit status.
    func end(within limit: Duration = .seconds(120)) async throws -> Int32 {
        try input.fileHandleForWriting.close()
        try await eventually(within: limit, "ended") { state.withLock { $0.status != nil } }
        return state.withLock { $0.status ?? -1 }
    }
}
