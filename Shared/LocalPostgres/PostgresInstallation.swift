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
        guard let newest = all(with: ["postgres", "initdb"]).max(by: { $0.majorVersion < $1.majorVersion }) else {
            throw LocalPostgresError("no PostgreSQL server is installed: looked in \(debian)/*/bin and along PATH")
        }
        guard newest.majorVersion >= minimum else {
            throw LocalPostgresError("PostgreSQL \(newest.majorVersion) is too old: \(minimum) or newer is needed")
        }
        return newest
    }

    /// Finds programs of a version, or else of the next newer one that is installed; the error says what to install.
    ///
    /// A client of PostgreSQL reads what an older server or program has written, but not always the other way round.
    package static func find(_ programs: [String], notOlderThan version: Int) throws -> PostgresInstallation {
        let found = all(with: programs)
        let fitting = found.filter { $0.majorVersion >= version }.min { $0.majorVersion < $1.majorVersion }
        guard let fitting else {
            let names = programs.joined(separator: " and ")
            let newest = found.map(\.majorVersion).max().map { "the newest here is \($0)" } ?? "there is none here"
            throw LocalPostgresError(
                "\(names) of PostgreSQL \(version) or newer is needed and \(newest): install postgresql-client-\(version)"
            )
        }
        return fitting
    }

    private static let debian = "/usr/lib/postgresql"

    /// Every installation that has these programs: Debian's and the first along `PATH`.
    private static func all(with programs: [String]) -> [PostgresInstallation] {
        // Silence: no such folder means that there is nothing in it.
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

    /// Reads `postgres (PostgreSQL) 15.8 (Debian …)`.
    private static func version(of program: String) -> Int? {
        guard FileManager.default.isExecutableFile(atPath: program) else {
            return nil
        }
        let process = Process()
        process.executableURL = URL(filePath: program)
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
