import ChildProcesses
import Foundation
import Synchronization

/// Third-party programs for tests, installed by `scripts/python-clients`.
package enum PythonPrograms {
    package static let scripts = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "scripts").path(percentEncoded: false)

    private static let installations = Mutex<[String: Task<String, any Error>]>([:])

    /// Returns the path of a program by the script's name for it, and installs it once per process.
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
        // The first call may print more lines, such as the output of pip.
        guard status.isSuccess, let path = output.split(separator: "\n").last else {
            throw TestSupportError("\(name) cannot be installed: \(output)")
        }
        return String(path)
    }
}
