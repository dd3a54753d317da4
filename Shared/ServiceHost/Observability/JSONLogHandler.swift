import Foundation
import Logging
import Wire

/// A log handler that writes each entry as one JSON object on standard output, for `jq` and log collectors.
struct JSONLogHandler: LogHandler {
    let label: String
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]

    init(label: String, level: Logger.Level) {
        self.label = label
        logLevel = level
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var fields: [String: String] = [:]
        for (key, value) in metadata where key != "hb.request.id" { fields[key] = "\(value)" }
        for (key, value) in event.metadata ?? [:] { fields[key] = "\(value)" }
        var line = #"{"time":"\#(Timestamp.string(from: Date()))","level":"\#(event.level)","service":"\#(label)""#
        line += ",\"message\":\(Self.quoted("\(event.message)"))"
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
            line += ",\(Self.quoted(key)):\(Self.quoted(value))"
        }
        line += "}\n"
        // One write for each line, so that the lines of several threads do not mix.
        _ = line.withUTF8 { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }

    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            case "\r": quoted += "\\r"
            case let control where control.value < 0x20:
                let digits = String(control.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
