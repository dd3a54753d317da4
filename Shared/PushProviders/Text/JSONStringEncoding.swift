enum JSONStringEncoding {
    static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0x0a: bytes.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "n")])
            case 0..<0x20:
                bytes.append(contentsOf: "\\u00".utf8)
                bytes.append(digits[Int(byte >> 4)])
                bytes.append(digits[Int(byte & 15)])
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Returns the encoded length in bytes, without quotation marks.
    static func length(of text: some StringProtocol) -> Int {
        text.utf8.reduce(0) { length, byte in
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x0a: length + 2
            case 0..<0x20: length + 6
            default: length + 1
            }
        }
    }

    private static let digits = Array("0123456789abcdef".utf8)
}

struct JSONObjectWriter {
    /// The object without its closing brace.
    private(set) var bytes: [UInt8] = [UInt8(ascii: "{")]

    var isEmpty: Bool { bytes.count == 1 }
    var encoded: [UInt8] { bytes + [UInt8(ascii: "}")] }

    init() {
        bytes.reserveCapacity(512)
    }

    mutating func add(_ name: String, _ text: String?) {
        guard let text else { return }
        addName(name)
        JSONStringEncoding.append(text, to: &bytes)
    }

    mutating func add(_ name: String, _ number: Int?) {
        guard let number else { return }
        addName(name)
        bytes.append(contentsOf: String(number).utf8)
    }

    mutating func add(_ name: String, _ value: EncodedJSON) {
        addName(name)
        bytes.append(contentsOf: value.text.utf8)
    }

    /// Adds an array of strings, unless it is empty.
    mutating func add(_ name: String, _ texts: [String]) {
        guard !texts.isEmpty else { return }
        addName(name)
        bytes.append(UInt8(ascii: "["))
        for (index, text) in texts.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSONStringEncoding.append(text, to: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// Adds an object, unless it is empty.
    mutating func add(_ name: String, _ object: JSONObjectWriter) {
        guard !object.isEmpty else { return }
        addName(name)
        bytes.append(contentsOf: object.bytes)
        bytes.append(UInt8(ascii: "}"))
    }

    /// Adds members sorted by name, so that equal messages have equal bytes.
    mutating func add(members: [String: EncodedJSON]) {
        guard !members.isEmpty else { return }
        for (name, value) in members.sorted(by: { $0.key < $1.key }) { add(name, value) }
    }

    private mutating func addName(_ name: String) {
        if !isEmpty { bytes.append(UInt8(ascii: ",")) }
        JSONStringEncoding.append(name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
    }
}
