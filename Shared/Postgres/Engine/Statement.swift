import Glibc

/// A query in the form that libpq needs, built on the caller's thread so that the engine's thread only passes pointers.
struct Statement: Sendable {
    let key: StatementKey
    /// All values in sequence, plus one final byte so that an empty value also has an address.
    let bytes: [UInt8]
    /// The length of each value in bytes; -1 is NULL.
    let lengths: [Int32]

    init(_ query: PostgresQuery) throws {
        guard query.parameters.count <= Int(UInt16.max) else {
            throw PostgresError(
                .encoding(parameter: query.parameters.count),
                "\(query.parameters.count) parameters exceed PostgreSQL's limit of 65,535; bind an array"
            )
        }
        guard !query.sql.utf8.contains(0) else {
            throw PostgresError(.encoding(parameter: 0), "the statement's text contains a NUL character")
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(query.parameters.reduce(1) { $0 + ($1.bytes?.count ?? 0) })
        var lengths: [Int32] = []
        lengths.reserveCapacity(query.parameters.count)
        for (index, parameter) in query.parameters.enumerated() {
            guard let value = parameter.bytes else {
                lengths.append(-1)
                continue
            }
            // PostgreSQL limits values and messages to 1 GB.
            guard value.count < 1 << 30 else {
                throw PostgresError(.encoding(parameter: index + 1), "parameter $\(index + 1) is larger than 1 GB")
            }
            guard !parameter.type.isText || !value.containsNUL(in: parameter.type) else {
                throw PostgresError(
                    .encoding(parameter: index + 1),
                    "parameter $\(index + 1) (\(parameter.type)) contains a NUL character, which PostgreSQL forbids"
                )
            }
            lengths.append(Int32(value.count))
            bytes.append(contentsOf: value)
        }
        bytes.append(0)
        self.bytes = bytes
        self.lengths = lengths
        key = StatementKey(sql: query.sql, types: query.parameters.map(\.type.rawValue))
    }

    /// Calls `body` with the pointers, lengths and formats that libpq's `PQsend…` functions require.
    func withBinding<Value>(
        _ body: (
            _ count: Int32,
            _ values: UnsafePointer<UnsafePointer<CChar>?>?,
            _ lengths: UnsafePointer<Int32>?,
            _ formats: UnsafePointer<Int32>?
        ) -> Value
    ) -> Value {
        let count = lengths.count
        guard count > 0 else { return body(0, nil, nil, nil) }
        return bytes.withUnsafeBytes { bytes in
            lengths.withUnsafeBufferPointer { lengths in
                withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count) { values in
                    withUnsafeTemporaryAllocation(of: Int32.self, capacity: count) { formats in
                        var next = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
                        for index in 0..<count {
                            let length = lengths[index]
                            values.initializeElement(at: index, to: length < 0 ? nil : next)
                            formats.initializeElement(at: index, to: 1)
                            if length > 0 { next = next.map { $0 + Int(length) } }
                        }
                        return body(Int32(count), values.baseAddress, lengths.baseAddress, formats.baseAddress)
                    }
                }
            }
        }
    }
}

/// The key of a prepared statement: its text and the types of its parameters.
struct StatementKey: Hashable, Sendable {
    let sql: String
    let types: [UInt32]
    /// The hash, computed on the caller's thread because all callers share the engine's thread.
    private let digest: Int

    init(sql: String, types: [UInt32] = []) {
        self.sql = sql
        self.types = types
        var hasher = Hasher()
        hasher.combine(sql)
        hasher.combine(types)
        digest = hasher.finalize()
    }

    static func == (left: StatementKey, right: StatementKey) -> Bool {
        left.digest == right.digest && left.types == right.types && left.sql == right.sql
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(digest)
    }
}

extension PostgresType {
    /// Whether values of the type are text, in which PostgreSQL allows every character except NUL.
    fileprivate var isText: Bool {
        switch self {
        case .text, .varchar, .bpchar, .name, .json, .jsonb, .unknown: true
        case .textArray, .varcharArray, .bpcharArray, .nameArray, .jsonArray, .jsonbArray: true
        default: false
        }
    }
}

extension [UInt8] {
    /// Whether a text, or any text in an array, contains a NUL character.
    fileprivate func containsNUL(in type: PostgresType) -> Bool {
        withUnsafeBytes { bytes in
            guard PostgresType.arrays.contains(type) else { return bytes.containsNUL(from: 0, count: bytes.count) }
            var offset = 20  // dimensions, flags, type, length, first index
            while offset + 4 <= bytes.count {
                let length = Int(Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)))
                offset += 4
                guard length > 0 else { continue }
                guard offset + length <= bytes.count else { return false }
                if bytes.containsNUL(from: offset, count: length) { return true }
                offset += length
            }
            return false
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func containsNUL(from offset: Int, count: Int) -> Bool {
        guard count > 0, let baseAddress else { return false }
        return memchr(baseAddress + offset, 0, count) != nil
    }
}
