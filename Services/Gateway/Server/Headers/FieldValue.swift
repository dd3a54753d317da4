enum FieldValue {
    /// Returns whether a comma-separated list contains `token`, which must be lower-case.
    static func list(_ value: String, contains token: StaticString) -> Bool {
        tokens(of: value).contains { equals($0, token) }
    }

    static func tokens(of value: String) -> [Substring] {
        value.split(separator: ",").map(\.trimmedASCII)
    }

    /// Returns whether `value` equals `token`, which must be lower-case; the case of `value` is ignored.
    static func equals(_ value: some StringProtocol, _ token: StaticString) -> Bool {
        let bytes = value.utf8
        guard bytes.count == token.utf8CodeUnitCount else { return false }
        var index = 0
        for byte in bytes {
            let folded = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
            guard folded == token.utf8Start[index] else { return false }
            index += 1
        }
        return true
    }

    /// Returns the token of `Bearer <token>`, or nil for another scheme or a missing token.
    static func bearer(_ value: String) -> String? {
        let bytes = value.utf8
        guard let space = bytes.firstIndex(of: UInt8(ascii: " ")), equals(value[..<space], "bearer") else { return nil }
        let token = value[bytes.index(after: space)...]
        return token.isEmpty || token.utf8.contains(UInt8(ascii: " ")) ? nil : String(token)
    }

    /// Returns whether `value` is a valid request id: 1–128 characters of `[A-Za-z0-9._-]`.
    static func isRequestID(_ value: String) -> Bool {
        (1...128).contains(value.utf8.count) && value.utf8.allSatisfy(isNameByte)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// Returns whether `value` is a W3C trace parent with ids that are not all zeros.
    ///
    /// A value of a later version is parsed as version 00, as section 3.2.4 requires.
    static func isTraceparent(_ value: String) -> Bool {
        let bytes = value.utf8
        guard bytes.count >= 55, !bytes.starts(with: "ff".utf8) else { return false }
        if bytes.count > 55 {
            let next = bytes[bytes.index(bytes.startIndex, offsetBy: 55)]
            guard next == UInt8(ascii: "-"), !bytes.starts(with: "00".utf8) else { return false }
        }
        var hasTrace = false
        var hasParent = false
        for (index, byte) in bytes.prefix(55).enumerated() {
            switch (index, byte) {
            case (2, UInt8(ascii: "-")), (35, UInt8(ascii: "-")), (52, UInt8(ascii: "-")): break
            case (2, _), (35, _), (52, _): return false
            case (_, UInt8(ascii: "0")): break
            case (_, UInt8(ascii: "1")...UInt8(ascii: "9")), (_, UInt8(ascii: "a")...UInt8(ascii: "f")):
                if (3..<35).contains(index) { hasTrace = true }
                if (36..<52).contains(index) { hasParent = true }
            default: return false
            }
        }
        return hasTrace && hasParent
    }

    /// Returns whether `value` is a single host, with or without a port.
    static func isHost(_ value: String) -> Bool {
        !value.isEmpty && value.utf8.count <= 255
            && value.utf8.allSatisfy { isNameByte($0) || [0x3A, 0x5B, 0x5D, 0x7E, 0x25].contains($0) }
    }

    /// Returns the number of a `Content-Length`; only digits are accepted.
    static func length(_ value: String) -> Int? {
        guard !value.isEmpty, value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return Int(value)
    }
}

extension StringProtocol {
    var trimmedASCII: SubSequence {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else {
            return self[endIndex...]
        }
        return self[first...last]
    }
}
