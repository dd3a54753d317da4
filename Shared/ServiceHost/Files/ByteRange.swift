/// The part of a file that a `Range` field selects.
enum ByteRange: Hashable {
    case whole
    case part(Range<Int64>)
    case unsatisfiable

    /// Parses a `Range` field; malformed fields and several ranges select the whole file (RFC 9110, section 14.2).
    init(_ text: String, size: Int64) {
        guard text.utf8.count <= 100 else {
            self = .whole
            return
        }
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].lowercased() == "bytes" else {
            self = .whole
            return
        }
        let ends = parts[1].trimmingSpaces().split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard ends.count == 2, ends.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } }) else {
            self = .whole
            return
        }
        switch (Self.number(ends[0]), Self.number(ends[1])) {
        case (nil, nil): self = .whole
        case (nil, let length?): self = length > 0 && size > 0 ? .part(max(0, size - length)..<size) : .unsatisfiable
        case (let first?, let last): self.init(first, last ?? .max, size: size)
        }
    }

    private init(_ first: Int64, _ last: Int64, size: Int64) {
        if first > last {
            self = .whole
        } else {
            self = first < size ? .part(first..<(min(last, size - 1) + 1)) : .unsatisfiable
        }
    }

    /// Parses digits; a value that overflows becomes the maximum, which is beyond any file.
    private static func number(_ text: Substring) -> Int64? {
        text.isEmpty ? nil : Int64(text) ?? .max
    }
}

extension StringProtocol {
    func trimmingSpaces() -> String {
        var text = Substring(self).drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return String(text)
    }
}
