import Foundation
import Glibc

/// A file of `KEY=value` lines, such as `.env` and `.roost/secrets.env`.
struct EnvironmentFile: Sendable {
    let path: String

    /// Returns the values of the file, or no values when the file does not exist.
    ///
    /// A line is empty, a comment, or a key with a value. Single or double quotes around a value are removed, and the
    /// rest is taken literally.
    func read() throws -> [String: String] {
        guard FileManager.default.fileExists(atPath: path) else {
            return [:]
        }
        var values: [String: String] = [:]
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        for (index, raw) in lines.enumerated() {
            let line = raw.trimmingCharacters(in: .whitespaces)
            guard !line.isEmpty, !line.hasPrefix("#") else {
                continue
            }
            guard let equals = line.firstIndex(of: "="), equals > line.startIndex else {
                throw Workspace.Problem("\(path), line \(index + 1): expected KEY=value")
            }
            let key = line[..<equals].trimmingCharacters(in: .whitespaces)
            var value = line[line.index(after: equals)...].trimmingCharacters(in: .whitespaces)
            if value.count >= 2, let quote = value.first, quote == "\"" || quote == "'", value.last == quote {
                value = String(value.dropFirst().dropLast())
            }
            values[key] = value
        }
        return values
    }

    /// Writes the file atomically, readable only by its owner.
    func write(_ values: [String: String], heading: String) throws {
        try write("# \(heading)\n" + values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)\n" }.joined())
    }

    /// Replaces the lines of these keys and keeps all other lines; a key without a line is not added.
    func replace(_ values: [String: String]) throws {
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        let replaced = lines.map { line -> String in
            let key = line.prefix { $0 != "=" }.trimmingCharacters(in: .whitespaces)
            return values[key].map { "\(key)=\($0)" } ?? String(line)
        }
        try write(replaced.joined(separator: "\n"))
    }

    private func write(_ text: String) throws {
        let new = path + ".new"
        let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw Workspace.Problem("cannot write \(new): \(String(cString: strerror(errno)))")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: Data(text.utf8))
        try file.synchronize()
        guard rename(new, path) == 0 else {
            throw Workspace.Problem("cannot write \(path): \(String(cString: strerror(errno)))")
        }
    }
}
