/// A statement and the values bound to it.
///
/// A query is written as a string literal. `\(value)` binds a parameter instead of inserting text, so a value cannot
/// become SQL:
///
/// ```swift
/// let query: PostgresQuery = "SELECT id, name FROM accounts WHERE email = \(email) AND created_at > \(since)"
/// // sql: SELECT id, name FROM accounts WHERE email = $1 AND created_at > $2
/// ```
///
/// `\(unsafe: order)` inserts raw text, for example a sort order. Never pass text from outside the program to it.
/// `\(identifier: table)` inserts a quoted name.
///
/// Values are sent in binary, under the type that corresponds to their Swift type: `Int` is `int8`, `String` is `text`,
/// `Date` is `timestamptz`. Add a cast where PostgreSQL has no implicit conversion to the column's type:
/// `\(kind)::message_kind`.
///
/// PostgreSQL prepares each distinct text once per connection. Keep the number of texts small: bind a list as one array
/// (`= ANY(\(ids))`) instead of as many parameters. A statement has at most 65,535 parameters.
public struct PostgresQuery: Hashable, Sendable {
    /// The SQL text with the placeholders `$1`, `$2`, ….
    public var sql: String

    /// The bound values; the first one is `$1`.
    public var parameters: [PostgresParameter]

    /// Creates a statement from its text and parameters.
    public init(sql: String, parameters: [PostgresParameter] = []) {
        self.sql = sql
        self.parameters = parameters
    }
}

/// A bound value: its type and its bytes in PostgreSQL's binary format.
public struct PostgresParameter: Hashable, Sendable {
    /// The PostgreSQL type under which the value is sent.
    public let type: PostgresType

    /// The value in binary format; nil is NULL.
    public let bytes: [UInt8]?

    /// Creates a parameter from a type and a value in binary format.
    public init(type: PostgresType, bytes: [UInt8]?) {
        self.type = type
        self.bytes = bytes
    }

    /// Creates a parameter from a Swift value.
    public init<Value: PostgresEncodable>(_ value: Value) {
        self.init(type: Value.postgresType, bytes: value.encode())
    }
}

extension PostgresQuery: ExpressibleByStringInterpolation {
    /// Creates a statement without parameters.
    public init(stringLiteral value: String) {
        self.init(sql: value)
    }

    /// Creates a statement from an interpolated string literal.
    public init(stringInterpolation: StringInterpolation) {
        self.init(sql: stringInterpolation.sql, parameters: stringInterpolation.parameters)
    }

    /// The builder that turns each `\(value)` of a string literal into a parameter.
    public struct StringInterpolation: StringInterpolationProtocol, Sendable {
        var sql = ""
        var parameters: [PostgresParameter] = []

        /// Creates an empty statement with reserved capacity.
        public init(literalCapacity: Int, interpolationCount: Int) {
            sql.reserveCapacity(literalCapacity + 3 * interpolationCount)
            parameters.reserveCapacity(interpolationCount)
        }

        /// Appends literal SQL text.
        public mutating func appendLiteral(_ literal: String) {
            sql += literal
        }

        /// Binds a value.
        public mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value) {
            parameters.append(PostgresParameter(value))
            sql += "$"
            sql += String(parameters.count)
        }

        /// Binds a value or NULL.
        public mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value?) {
            parameters.append(PostgresParameter(type: Value.postgresType, bytes: value?.encode()))
            sql += "$"
            sql += String(parameters.count)
        }

        /// Appends raw SQL text, which must never come from outside the program.
        public mutating func appendInterpolation(unsafe text: String) {
            sql += text
        }

        /// Appends a quoted identifier: the name of a schema, table, column or role.
        public mutating func appendInterpolation(identifier name: String) {
            sql += PostgresQuery.quoted(identifier: name)
        }
    }

    /// Returns the name as a quoted SQL identifier.
    public static func quoted(identifier name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}
