import Foundation

/// An installation of PostgreSQL's programs on this machine.
package struct PostgresInstallation: Sendable {
    /// The folder with `postgres` and `initdb`.
    package let binaries: String
    package let majorVersion: Int

    /// Returns the path of a program.
    package func program(_ name: String) -> String { "\(binaries)/\(name)" }

    /// Finds the newest installation in Debian's folder and along `PATH`.
    ///
    /// - Parameter minimum: the oldest accepted major version.
    /// - Returns: the installation.
    /// - Throws: a `LocalPostgresError` that names the searched folders.
    package static func find(minimum: Int = 15) throws -> PostgresInstallation {
        guard let newest = all(with: ["postgres", "initdb"]).max(by: { $0.majorVersion < $1.majorVersion }) else {
            throw LocalPostgresError("no PostgreSQL server is installed in \(debian)/*/bin or along PATH")
        }
        guard newest.majorVersion >= minimum else {
            throw LocalPostgresError("PostgreSQL \(newest.majorVersion) is too old: \(minimum) or newer is required")
        }
        return newest
    }

    /// Finds programs of a version, or of the next newer one.
    ///
    /// PostgreSQL's clients can read the output of older servers and programs, but not always of newer ones.
    ///
    /// - Parameters:
    ///   - programs: the names of the programs.
    ///   - version: the oldest accepted major version.
    /// - Returns: the installation.
    /// - Throws: a `LocalPostgresError` that names the package to install.
    package static func find(_ programs: [String], notOlderThan version: Int) throws -> PostgresInstallation {
        let found = all(with: programs)
        let fitting = found.filter { $0.majorVersion >= version }.min { $0.majorVersion < $1.majorVersion }
        guard let fitting else {
            let names = programs.joined(separator: " and ")
            let newest = found.map(\.majorVersion).max().map { "the newest installed is \($0)" } ?? "none is installed"
            throw LocalPostgresError(
                "\(names) of PostgreSQL \(version) or newer is needed, \(newest): install postgresql-client-\(version)"
            )
        }
        return fitting
    }

    private static let debian = "/usr/lib/postgresql"

    /// Returns all installations with these programs: Debian's, and the first one along `PATH`.
    private static func all(with programs: [String]) -> [PostgresInstallation] {
        // A missing folder contains no installation.
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: debian)) ?? []
        let packaged = versions.compactMap(Int.init).map { version in
            PostgresInstallation(binaries: "\(debian)/\(version)/bin", majorVersion: version)
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let onPath = path.split(separator: ":").lazy.compactMap { folder in
            programs.first.flatMap { version(of: "\(folder)/\($0)") }.map { version in
                PostgresInstallation(binaries: String(folder), majorVersion: version)
            }
        }
        return packaged.filter { $0.has(programs) } + onPath.filter { $0.has(programs) }.prefix(1)
    }

    private func has(_ programs: [String]) -> Bool {
        programs.allSatisfy { FileManager.default.isExecutableFile(atPath: program($0)) }
    }

    /// Returns the major version from output like `postgres (PostgreSQL) 15.8 (Debian …)`.
    private static func version(of program: String) -> Int? {
        guard FileManager.default.isExecutableFile(atPath: program) else {
            return nil
        }
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = ["--version"]
        let output = Pipe()
        process.standardOutput = output
        // A program that cannot run is not an installation.
        guard (try? process.run()) != nil, let line = try? output.fileHandleForReading.readToEnd() else {
            return nil
        }
        process.waitUntilExit()
        let words = String(decoding: line, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        return words.dropFirst(2).first.flatMap { Int($0.prefix(while: \.isNumber)) }
    }
}

/// The error of a local server that could not be created or started; the text names the remedy.
package struct LocalPostgresError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
