import Foundation
import Wire

/// One unexpected end of a process.
struct ExitRecord: Codable, Sendable {
    let time: String
    let process: String
    /// As `signal 11`.
    let end: String
    /// How long the process had run.
    let seconds: Double
}

/// The file in which a run notes every process that ended without being told to, for people and for `roost doctor`.
struct ExitLog: Sendable {
    /// The time that "again and again" is about.
    static let window: TimeInterval = 600
    /// So many ends within the window are a crash loop.
    static let loopCount = 3
    /// What is read back of the file: some hundred lines.
    private static let readLimit: UInt64 = 65_536

    private let path: String
    private let file: LogFile

    init(path: String) {
        self.path = path
        file = LogFile(path: path, limit: 1 << 20)
    }

    func append(_ record: ExitRecord) {
        // A record is four plain fields: nothing of it fails to encode.
        guard let line = try? JSONEncoder().encode(record) else { return }
        file.append(Array(line) + [10])
    }

    /// The newest records, oldest first; lines that cannot be read are left out.
    func records() -> [ExitRecord] {
        guard let handle = FileHandle(forReadingAtPath: path) else { return [] }
        // Silence: what cannot be read is as what is not there.
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

    /// Sentences about the processes that ended within the window before `now`, by process.
    func summaries(now: Date = Date()) -> [String] {
        let recent = records().filter { record in
            Timestamp.date(from: record.time).map { 0...Self.window ~= now.timeIntervalSince($0) } ?? false
        }
        return Dictionary(grouping: recent, by: \.process).sorted { $0.key < $1.key }.map { process, exits in
            let times = exits.count == 1 ? "once" : "\(exits.count) times"
            let minutes = Int(Self.window) / 60
            return "\(process) ended \(times) in the last \(minutes) minutes, last with \(exits.last?.end ?? "")"
        }
    }
}
