import Foundation
import Wire

struct ExitRecord: Codable, Sendable {
    let time: String
    let process: String
    /// For example `signal 11`.
    let end: String
    let seconds: Double
}

/// The file with all unexpected exits, for operators and for `roost doctor`.
struct ExitLog: Sendable {
    /// The period in seconds in which exits are counted.
    static let window: TimeInterval = 600
    /// The number of exits within the window that counts as a crash loop.
    static let loopCount = 3
    /// The number of bytes to read back, some hundred lines.
    private static let readLimit: UInt64 = 65_536

    private let path: String
    private let file: LogFile

    init(path: String) {
        self.path = path
        file = LogFile(path: path, limit: 1 << 20)
    }

    func append(_ record: ExitRecord) {
        // A record has four plain fields and always encodes.
        guard let line = try? JSONEncoder().encode(record) else { return }
        file.append(Array(line) + [10])
    }

    /// Returns the newest records, oldest first; unreadable lines are skipped.
    func records() -> [ExitRecord] {
        guard let handle = FileHandle(forReadingAtPath: path) else { return [] }
        // Failures are ignored: an unreadable file counts as empty.
        defer { try? handle.close() }
        guard let size = try? handle.seekToEnd(),
            (try? handle.seek(toOffset: size - min(size, Self.readLimit))) != nil,
            let data = try? handle.readToEnd()
        else {
            return []
        }
        let decoder = JSONDecoder()
        return data.split(separator: 10).compactMap { try? decoder.decode(ExitRecord.self, from: Data($0)) }
    }

    func summaries(now: Date = Date()) -> [String] {
        let recent = records().filter { record in
            Timestamp.date(from: record.time).map { 0...Self.window ~= now.timeIntervalSince($0) } ?? false
        }
        return Dictionary(grouping: recent, by: \.process).sorted { $0.key < $1.key }.map { process, exits in
            let times = exits.count == 1 ? "once" : "\(exits.count) times"
            let minutes = Int(Self.window) / 60
            return "\(process) exited \(times) in the last \(minutes) minutes, last with \(exits.last?.end ?? "")"
        }
    }
}
