import Foundation

/// PostgreSQL's programs on this machine.
package struct PostgresInstallation: Sendable {
    /// The folder that holds `postgres` and `initdb`.
    package let binaries: String
    package let majorVersion: Int

    /// What a call of one of the programs begins with.
    package func program(_ name: String) -> String { "\(binaries)/\(name)" }

    /// Finds the newest installation, where Debian keeps them and along `PATH`; the error says where it looked.
    package static func find(minimum: Int = 15) throws -> PostgresInstallation {
        let debian = "/usr/lib/postgresql"
        // Silence: no such folder means that there is nothing in it.
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: debian)) ?? []
        let packaged = versions.compactMap(Int.init).sorted(by: >).map { version in
            PostgresInstallation(binaries: "\(debian)/\(version)/bin", majorVersion: version)
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let onPath = path.split(separator: ":").lazy.compactMap { folder in
            version(of: "\(folder)/postgres").map { version in
                PostgresInstallation(binaries: String(folder), majorVersion: version)
            }
        }
        let complete = packaged.filter(\.isComplete) + onPath.filter(\.isComplete).prefix(1)
        guard let newest = complete.max(by: { $0.majorVersion < $1.majorVersion }) else {
            throw LocalPostgresError("no PostgreSQL server is installed: looked in \(debian)/*/bin and along PATH")
        }
        guard newest.majorVersion >= minimum else {
            throw LocalPostgresError("PostgreSQL \(newest.majorVersion) is too old: \(minimum) or newer is needed")
        }
        return newest
    }

    private var isComplete: Bool {
        ["postgres", "initdb"].allSatisfy { FileManager.default.isExecutableFile(atPath: program($0)) }
    }

    /// Reads `postgres (PostgreSQL) 15.8 (Debian …)`.
    private static func version(of server: String) -> Int? {
        guard FileManager.default.isExecutableFile(atPath: server) else {
            return nil
        }
        let process = Process()
        process.executableURL = URL(filePath: server)
        process.arguments = ["--version"]
        let output = Pipe()
        process.standardOutput = output
        // Silence: what cannot be run is not an installation.
        guard (try? process.run()) != nil, let line = try? output.fileHandleForReading.readToEnd() else {
            return nil
        }
        process.waitUntilExit()
        let words = String(decoding: line, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        return words.dropFirst(2).first.flatMap { Int($0.prefix(while: \.isNumber)) }
    }
}

/// A private PostgreSQL server could not be made or started; the text says what to do about it.
package struct LocalPostgresError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
