/// A statement and the values bound to it.
///
/// Written as a string literal, in which `\(value)` does not paste text but binds a parameter, so no value can ever
/// become SQL:
///
/// ```swift
/// let query: PostgresQuery = "SELECT id, name FROM accounts WHERE email = \(email) AND created_at > \(since)"
/// // sql: SELECT id, name FROM accounts WHERE email = $1 AND created_at > $2
/// ```
///
/// Raw text (a table's name, a sort order) needs the ugly word: `\(unsafe: order)`. Never give it what came from
/// outside.
///
/// Values are sent in binary under the type their Swift type names (`Int` is `int8`, `String` is `text`, `Date` is
/// `timestamptz`); where PostgreSQL has no implicit way from there to the column, cast: `\(kind)::message_kind`.
/// PostgreSQL prepares each distinct text once per connection, so keep the texts few: bind lists as one array
/// (`= ANY(\(ids))`) rather than as many parameters.
public struct PostgresQuery: Hashable, Sendable {
    /// The text, with `$1`, `$2` … where the parameters stand.
    public var sql: String

    /// What is bound, `$1` first.
    public var parameters: [PostgresParameter]

    /// A statement from its text and parameters.
    public init(sql: String, parameters: [PostgresParameter] = []) {
        self.sql = sql
        self.parameters = parameters
    }
}

/// One bound value: its type and its bytes in PostgreSQL's binary format, or no bytes for NULL.
public struct PostgresParameter: Hashable, Sendable {
    /// The type the value is sent under.
    public let type: PostgresType

    /// The value in binary format; nil is NULL.
    public let bytes: [UInt8]?

    /// A parameter from its raw parts.
    public init(type: PostgresType, bytes: [UInt8]?) {
        self.type = type
        self.bytes = bytes
    }

    /// A parameter from a Swift value.
    public init<Value: PostgresEncodable>(_ value: Value) {
        self.init(type: Value.postgresType, bytes: value.encode())
    }
}

extension PostgresQuery: ExpressibleByStringInterpolation {
    /// A statement without parameters.
    public init(stringLiteral value: String) {
        self.init(sql: value)
    }

    /// A statement from an interpolated literal.
    public init(stringInterpolation: StringInterpolation) {
        self.init(sql: stringInterpolation.sql, parameters: stringInterpolation.parameters)
    }

    /// Turns each `\(value)` of a literal into a parameter.
    public struct StringInterpolation: StringInterpolationProtocol, Sendable {
        var sql = ""
        var parameters: [PostgresParameter] = []

        /// An empty statement with room for what comes.
        public init(literalCapacity: Int, interpolationCount: Int) {
            sql.reserveCapacity(literalCapacity + 3 * interpolationCount)
            parameters.reserveCapacity(interpolationCount)
        }

        /// Adds the text between values.
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

        /// Adds raw text, which must never come from outside.
        public mutating func appendInterpolation(unsafe text: String) {
            sql += text
        }

        /// Adds a name (of a schema, table, column, role), quoted so that it cannot be anything else.
        public mutating func appendInterpolation(identifier name: String) {
            sql += PostgresQuery.quoted(identifier: name)
        }
    }

    /// A name in double quotes, as SQL wants it where it is not a plain lower-case word.
    public static func quoted(identifier name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}
