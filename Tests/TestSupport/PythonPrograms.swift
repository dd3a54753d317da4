import ChildProcesses
import Foundation
import Synchronization

/// What others have written and the tests run, as `scripts/python-clients` brings it.
package enum PythonPrograms {
    /// The folder of the repository's scripts.
    package static let scripts = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "scripts").path(percentEncoded: false)

    private static let installations = Mutex<[String: Task<String, any Error>]>([:])

    /// The path of what the script calls so; brought once in a process.
    package static func path(_ name: String) async throws -> String {
        let installation = installations.withLock { installations -> Task<String, any Error> in
            if let installation = installations[name] { return installation }
            let installation = Task { try await install(name) }
            installations[name] = installation
            return installation
        }
        return try await installation.value
    }

    private static func install(_ name: String) async throws -> String {
        let environment = ProcessInfo.processInfo.environment
        let (status, output) = try await ProcessCommand("\(scripts)/python-clients", [name], environment: environment)
            .run(within: .seconds(280))
        // At the first call it may say more: what it makes and what pip thinks of that.
        guard status.isSuccess, let path = output.split(separator: "\n").last else {
            throw TestSupportError("\(name) cannot be brought: \(output)")
        }
        return String(path)
    }
}
