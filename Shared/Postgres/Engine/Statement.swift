import Glibc

/// A query as libpq wants it: made once, by the caller, so that the engine's thread only passes pointers.
struct Statement: Sendable {
    let key: StatementKey
    /// All values one after another, and a byte at the end so that an empty value has an address too.
    let bytes: [UInt8]
    /// The length of each value; -1 is NULL.
    let lengths: [Int32]

    init(_ query: PostgresQuery) throws {
        guard query.parameters.count <= Int(UInt16.max) else {
            throw PostgresError(
                .encoding(parameter: query.parameters.count),
                "\(query.parameters.count) parameters where PostgreSQL takes 65,535; bind an array"
            )
        }
        guard !query.sql.utf8.contains(0) else {
            throw PostgresError(.encoding(parameter: 0), "the statement's text holds a NUL character")
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
            // PostgreSQL's own limit on a value and on a message
            guard value.count < 1 << 30 else {
                throw PostgresError(.encoding(parameter: index + 1), "parameter $\(index + 1) is over 1 GB")
            }
            guard !parameter.type.isText || !value.holdsNUL(in: parameter.type) else {
                throw PostgresError(
                    .encoding(parameter: index + 1),
                    "parameter $\(index + 1) (\(parameter.type)) holds a NUL character, which PostgreSQL's texts cannot"
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

    /// Lends the pointers, lengths and formats that libpq's `PQsend…` functions take.
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

/// What a prepared statement is kept under: its text and the types of its parameters.
struct StatementKey: Hashable, Sendable {
    let sql: String
    let types: [UInt32]
    /// Taken on the caller's thread, since the engine's is the one that all share.
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
    /// Whether values of the type are text, in which PostgreSQL allows every character but NUL.
    fileprivate var isText: Bool {
        switch self {
        case .text, .varchar, .bpchar, .name, .json, .jsonb, .unknown: true
        case .textArray, .varcharArray, .bpcharArray, .nameArray, .jsonArray, .jsonbArray: true
        default: false
        }
    }
}

extension [UInt8] {
    /// Whether a text, or a text in an array of them, has a NUL in it.
    fileprivate func holdsNUL(in type: PostgresType) -> Bool {
        withUnsafeBytes { bytes in
            guard PostgresType.arrays.contains(type) else { return bytes.holdsNUL(from: 0, count: bytes.count) }
            var offset = 20  // dimensions, flags, type, length, first index
            while offset + 4 <= bytes.count {
                let length = Int(Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)))
                offset += 4
                guard length > 0 else { continue }
                guard offset + length <= bytes.count else { return false }
                if bytes.holdsNUL(from: offset, count: length) { return true }
                offset += length
            }
            return false
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func holdsNUL(from offset: Int, count: Int) -> Bool {
        guard count > 0, let baseAddress else { return false }
        return memchr(baseAddress + offset, 0, count) != nil
    }
}
