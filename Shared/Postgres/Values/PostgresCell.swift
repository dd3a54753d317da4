/// One value of an answer: its type and its bytes, which it keeps alive.
public struct PostgresCell: @unchecked Sendable {
    // Unchecked: the pointer is into `resultHandle`, which nobody writes to and which lives as long as the cell.
    let resultHandle: ResultHandle
    let column: Int32
    let base: UnsafeRawPointer?
    let count: Int

    /// The type PostgreSQL sent it as.
    public let type: PostgresType

    /// Whether it is NULL.
    public var isNull: Bool { base == nil }

    /// The name of its column, for errors.
    public var columnName: String { resultHandle.name(of: column) }

    /// The bytes in PostgreSQL's binary format; none for NULL.
    public var bytes: [UInt8] {
        withUnsafeBytes { Array($0) }
    }

    /// Lends the bytes without a copy; none for NULL.
    public func withUnsafeBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try withExtendedLifetime(resultHandle) { () throws(Failure) -> Value in
            try body(UnsafeRawBufferPointer(start: base, count: count))
        }
    }

    /// An error that names the column and says what is wrong with it.
    public func error(_ problem: String) -> PostgresError {
        .decoding(column: columnName, problem)
    }

    /// An error that says that the column's type cannot be read as `expected`, or that the column is NULL.
    public func mismatch(_ expected: Any.Type) -> PostgresError {
        isNull ? error("is NULL, not \(expected)") : error("is \(type), which \(expected) cannot hold; cast it in SQL")
    }

    /// Throws unless the cell has this type and a value.
    public func expect(_ type: PostgresType, as expected: Any.Type) throws {
        guard self.type == type, base != nil else { throw mismatch(expected) }
    }

    func expectValue(as expected: Any.Type) throws {
        guard base != nil else { throw mismatch(expected) }
    }

    /// Exactly so many bytes, which live as long as the cell.
    func fixed(_ length: Int) throws -> UnsafeRawBufferPointer {
        guard let base else { throw error("is NULL") }
        guard count == length else { throw error("holds \(count) bytes where \(type) has \(length)") }
        return UnsafeRawBufferPointer(start: base, count: count)
    }

    @inline(__always)
    func integer<Value: FixedWidthInteger>(_: Value.Type) throws -> Value {
        let bytes = try fixed(MemoryLayout<Value>.size)
        return withExtendedLifetime(resultHandle) { Value(bigEndian: bytes.loadUnaligned(as: Value.self)) }
    }

    func text(dropping prefix: Int) throws -> String {
        guard base != nil else { throw error("is NULL, not String") }
        guard count >= prefix else { throw error("holds \(count) bytes, too few for \(type)") }
        return withUnsafeBytes { bytes in
            String(decoding: UnsafeRawBufferPointer(rebasing: bytes.dropFirst(prefix)), as: UTF8.self)
        }
    }
}

extension PostgresCell {
    /// Reads a one-dimensional array, element by element.
    func elements<Value>(_ read: (PostgresCell) throws -> Value) throws -> [Value] {
        guard let base else { throw error("is NULL, not an array") }
        var offset = 0
        func next() throws -> Int32 {
            guard offset + 4 <= count else { throw error("is \(type), which is no array") }
            defer { offset += 4 }
            return Int32(bigEndian: base.loadUnaligned(fromByteOffset: offset, as: Int32.self))
        }

        guard PostgresType.arrays.contains(type) else { throw mismatch([Value].self) }
        let dimensions = try next()
        _ = try next()  // whether there are NULLs
        let element = PostgresType(rawValue: UInt32(bitPattern: try next()))
        guard dimensions != 0 else { return [] }
        guard dimensions == 1 else { throw error("is an array of \(dimensions) dimensions, not of one") }
        let length = try next()
        _ = try next()  // the first index
        guard length >= 0, Int(length) <= (count - offset) / 4 else { throw error("is a broken array") }
        var values: [Value] = []
        values.reserveCapacity(Int(length))
        for _ in 0..<length {
            let size = try next()
            guard size >= 0 else {
                values.append(try read(part(at: nil, count: 0, type: element)))
                continue
            }
            guard offset + Int(size) <= count else { throw error("is a broken array") }
            values.append(try read(part(at: base + offset, count: Int(size), type: element)))
            offset += Int(size)
        }
        return values
    }

    private func part(at base: UnsafeRawPointer?, count: Int, type: PostgresType) -> PostgresCell {
        PostgresCell(resultHandle: resultHandle, column: column, base: base, count: count, type: type)
    }
}

extension PostgresType {
    /// The arrays that can be read; anything else with such bytes is not taken for one.
    static let arrays: Set<PostgresType> = [
        .boolArray, .byteaArray, .nameArray, .int2Array, .int4Array, .textArray, .bpcharArray, .varcharArray,
        .int8Array, .float4Array, .float8Array, .timestamptzArray, .uuidArray, .jsonArray, .jsonbArray,
    ]
}
