/// A value of a result: its type and its bytes.
public struct PostgresCell: @unchecked Sendable {
    // Unchecked: the pointer refers to memory of `resultHandle`, which is immutable and outlives the cell.
    let resultHandle: ResultHandle
    let column: Int32
    let base: UnsafeRawPointer?
    let count: Int

    /// The type of the value as sent by PostgreSQL.
    public let type: PostgresType

    /// Whether the value is NULL.
    public var isNull: Bool { base == nil }

    /// The name of the column, for error messages.
    public var columnName: String { resultHandle.name(of: column) }

    /// A copy of the value in PostgreSQL's binary format; empty for NULL.
    public var bytes: [UInt8] {
        withUnsafeBytes { Array($0) }
    }

    /// Calls `body` with the bytes, without copying them; the buffer is empty for NULL and valid only during the call.
    public func withUnsafeBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try withExtendedLifetime(resultHandle) { () throws(Failure) -> Value in
            try body(UnsafeRawBufferPointer(start: base, count: count))
        }
    }

    /// Returns a decoding error for this column.
    ///
    /// - Parameter problem: the predicate of the sentence, for example "is not a valid color".
    /// - Returns: an error of kind ``PostgresError/Kind/decoding(column:)``.
    public func error(_ problem: String) -> PostgresError {
        .decoding(column: columnName, problem)
    }

    /// Returns the error for a column that is NULL or whose type cannot be decoded as `expected`.
    public func mismatch(_ expected: Any.Type) -> PostgresError {
        isNull ? error("is NULL, not \(expected)") : error("is \(type), not \(expected); cast it in SQL")
    }

    /// Throws a ``PostgresError`` unless the cell has this type and is not NULL.
    public func expect(_ type: PostgresType, as expected: Any.Type) throws {
        guard self.type == type, base != nil else { throw mismatch(expected) }
    }

    func expectValue(as expected: Any.Type) throws {
        guard base != nil else { throw mismatch(expected) }
    }

    /// Returns the bytes if there are exactly `length`; they remain valid as long as the cell.
    func fixed(_ length: Int) throws -> UnsafeRawBufferPointer {
        guard let base else { throw error("is NULL") }
        guard count == length else { throw error("has \(count) bytes, but \(type) requires \(length)") }
        return UnsafeRawBufferPointer(start: base, count: count)
    }

    @inline(__always)
    func integer<Value: FixedWidthInteger>(_: Value.Type) throws -> Value {
        let bytes = try fixed(MemoryLayout<Value>.size)
        return withExtendedLifetime(resultHandle) { Value(bigEndian: bytes.loadUnaligned(as: Value.self)) }
    }

    func text(dropping prefix: Int) throws -> String {
        guard base != nil else { throw error("is NULL, not String") }
        guard count >= prefix else { throw error("has \(count) bytes, too few for \(type)") }
        return withUnsafeBytes { bytes in
            String(decoding: UnsafeRawBufferPointer(rebasing: bytes.dropFirst(prefix)), as: UTF8.self)
        }
    }
}

extension PostgresCell {
    /// Decodes a one-dimensional array element by element.
    func elements<Value>(_ read: (PostgresCell) throws -> Value) throws -> [Value] {
        guard let base else { throw error("is NULL, not an array") }
        var offset = 0
        func next() throws -> Int32 {
            guard offset + 4 <= count else { throw error("is \(type), which is not an array") }
            defer { offset += 4 }
            return Int32(bigEndian: base.loadUnaligned(fromByteOffset: offset, as: Int32.self))
        }

        guard PostgresType.arrays.contains(type) else { throw mismatch([Value].self) }
        let dimensions = try next()
        _ = try next()  // whether there are NULLs
        let element = PostgresType(rawValue: UInt32(bitPattern: try next()))
        guard dimensions != 0 else { return [] }
        guard dimensions == 1 else { throw error("has \(dimensions) dimensions; arrays must have one") }
        let length = try next()
        _ = try next()  // the first index
        guard length >= 0, Int(length) <= (count - offset) / 4 else { throw error("is a malformed array") }
        var values: [Value] = []
        values.reserveCapacity(Int(length))
        for _ in 0..<length {
            let size = try next()
            guard size >= 0 else {
                values.append(try read(makeElement(at: nil, count: 0, type: element)))
                continue
            }
            guard offset + Int(size) <= count else { throw error("is a malformed array") }
            values.append(try read(makeElement(at: base + offset, count: Int(size), type: element)))
            offset += Int(size)
        }
        return values
    }

    private func makeElement(at base: UnsafeRawPointer?, count: Int, type: PostgresType) -> PostgresCell {
        PostgresCell(resultHandle: resultHandle, column: column, base: base, count: count, type: type)
    }
}

extension PostgresType {
    /// The array types that can be decoded; other types are rejected even if their bytes have the same layout.
    static let arrays: Set<PostgresType> = [
        .boolArray, .byteaArray, .nameArray, .int2Array, .int4Array, .textArray, .bpcharArray, .varcharArray,
        .int8Array, .float4Array, .float8Array, .timestamptzArray, .uuidArray, .jsonArray, .jsonbArray,
    ]
}
