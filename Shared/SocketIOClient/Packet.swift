import Foundation

/// A packet of Socket.IO 5 in the namespace `/`, without attachments.
enum Packet: Hashable {
    /// The server accepted the connection; the value is the socket's id.
    case connected(String)
    case refused(message: String, data: Data?)
    case disconnect
    case event(SocketIOEvent)
    case acknowledgement(Int, [Data])

    /// A violation of the protocol by the server.
    struct Malformed: Error, Hashable {
        let reason: String
    }

    /// Parses a packet from an Engine.IO message, without its leading `4`.
    init(_ bytes: some Collection<UInt8>) throws(Malformed) {
        guard let type = bytes.first else { throw Malformed(reason: "an empty packet") }
        var rest = Array(bytes.dropFirst())
        // This client never connects to another namespace.
        guard rest.first != UInt8(ascii: "/") else { throw Malformed(reason: "a packet for another namespace") }
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        let number = digits.isEmpty ? nil : Int(String(decoding: digits, as: UTF8.self))
        rest.removeFirst(digits.count)
        switch type {
        case UInt8(ascii: "0"):
            guard let id = Self.object(rest)["sid"] as? String else {
                throw Malformed(reason: "a connection without an id")
            }
            self = .connected(id)
        case UInt8(ascii: "1"): self = .disconnect
        case UInt8(ascii: "2"):
            let items = try Self.items(rest)
            guard let first = items.first, let name = Self.text(first) else {
                throw Malformed(reason: "an event without a name")
            }
            self = .event(SocketIOEvent(name: name, arguments: Array(items.dropFirst()), acknowledgement: number))
        case UInt8(ascii: "3"):
            guard let number else { throw Malformed(reason: "an acknowledgement without a number") }
            self = .acknowledgement(number, try Self.items(rest))
        case UInt8(ascii: "4"):
            let fields = Self.object(rest)
            let data = fields["data"].flatMap {
                // Encoding cannot fail for an object that was decoded from JSON.
                try? JSONSerialization.data(withJSONObject: $0, options: .fragmentsAllowed)
            }
            self = .refused(message: fields["message"] as? String ?? "", data: data)
        default: throw Malformed(reason: "an unsupported packet type")
        }
    }

    private static func object(_ bytes: [UInt8]) -> [String: Any] {
        // Invalid JSON counts as an empty object; the caller reports missing fields.
        (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any] ?? [:]
    }

    private static func text(_ json: Data) -> String? {
        // A value of another type returns nil, which the caller reports.
        try? JSONDecoder().decode(String.self, from: json)
    }

    /// Returns an event or acknowledgement as an Engine.IO message.
    static func text(_ type: Character, _ number: Int?, _ items: [Data]) -> Data {
        var text = Data("4\(type)\(number.map { "\($0)" } ?? "")[".utf8)
        for (index, item) in items.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text.append(item)
        }
        text.append(UInt8(ascii: "]"))
        return text
    }

    /// Returns the elements of a JSON array, undecoded.
    static func items(_ json: [UInt8]) throws(Malformed) -> [Data] {
        var scan = ArrayScan(json)
        guard let items = scan.items() else { throw Malformed(reason: "arguments that are not an array") }
        return items
    }
}

/// Locates the elements of a JSON array.
private struct ArrayScan {
    private static let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]

    private let json: [UInt8]
    private var depth = 0
    private var isText = false
    private var isEscaped = false
    private var start = 0
    private var elements: [Data] = []

    init(_ json: [UInt8]) {
        self.json = json
    }

    /// Returns the elements; nil if the text is not an array.
    mutating func items() -> [Data]? {
        guard
            let first = json.firstIndex(where: { !Self.blanks.contains($0) }), json[first] == UInt8(ascii: "["),
            let last = json.lastIndex(where: { !Self.blanks.contains($0) }), last > first,
            json[last] == UInt8(ascii: "]")
        else {
            return nil
        }
        start = first + 1
        for index in start..<last where !step(json[index], index) { return nil }
        guard depth == 0, !isText else { return nil }
        let isEmpty = elements.isEmpty && json[start..<last].allSatisfy(Self.blanks.contains)
        return isEmpty || appendItem(upTo: last) ? elements : nil
    }

    private mutating func step(_ byte: UInt8, _ index: Int) -> Bool {
        if isText {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isText = false
            }
            return true
        }
        switch byte {
        case UInt8(ascii: "\""): isText = true
        case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
        case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
        case UInt8(ascii: ",") where depth == 0: return appendItem(upTo: index)
        default: break
        }
        return depth >= 0
    }

    private mutating func appendItem(upTo end: Int) -> Bool {
        let item = json[start..<end]
        start = end + 1
        guard !item.allSatisfy(Self.blanks.contains) else { return false }
        elements.append(Data(item))
        return true
    }
}
