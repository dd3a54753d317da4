import Foundation
import NIOCore
import SocketIO
import Testing

/// python-socketio, as people use it.
@Suite(.serialized) struct PythonClientTests {
    @Test(arguments: [5, 4], ["polling", "websocket", "upgrade"])
    func everythingWorks(version: Int, transport: String) async throws {
        try await withServer { settings in
            // Version 4 gives up when a pong takes longer than an interval.
            settings.pingInterval = .seconds(1)
            settings.pingTimeout = .seconds(5)
        } namespaces: { server in
            server.namespace("/").on("ask") { socket, event in
                socket.emit("question", event.arguments, timeout: .seconds(5)) { answer in
                    if case .success(let arguments) = answer { event.acknowledgement?(arguments) }
                }
            }
        } _: { scene in
            let python = try await Self.run("scripts/python-clients", ["\(version)"])
            let script = Self.root.appending(path: "scripts/socketio-client.py").path
            let path = python.output.trimmingCharacters(in: .whitespacesAndNewlines)
            let result = try await Self.run(path, [script, "http://127.0.0.1:\(scene.port)", transport])
            #expect(result.status == 0, "\(result.output)")
        }
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func run(_ program: String, _ arguments: [String]) async throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = program.hasPrefix("/") ? URL(filePath: program) : root.appending(path: program)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        return try await withCheckedThrowingContinuation { continuation in
            // Waiting for the end of what it says must not take a thread of the tests.
            let thread = Thread {
                do {
                    try process.run()
                    let output = pipe.fileHandleForReading.readDataToEndOfFile()
                    process.waitUntilExit()
                    continuation.resume(returning: (process.terminationStatus, String(decoding: output, as: UTF8.self)))
                } catch {
                    continuation.resume(throwing: error)
                }
            }
            thread.start()
        }
    }
}
