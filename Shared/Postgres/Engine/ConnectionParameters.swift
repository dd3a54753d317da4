import CLibpq

/// The connection parameters that are passed to libpq.
struct ConnectionParameters: Sendable {
    private let settings: [(keyword: String, value: String)]

    init(_ configuration: PostgresConfiguration, for role: Connection.Role) {
        // The configuration's initializer has already validated the URL.
        let given = (try? Conninfo.options(of: configuration.url)) ?? [:]
        let options = [given["options"]].compactMap { $0 } + Self.options(configuration, for: role)
        var settings: [(String, String)] = [
            // Entries before `dbname` can be overridden by the URL; entries after `dbname` override the URL.
            ("keepalives", "1"), ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "15000"), ("application_name", configuration.applicationName),
            ("dbname", configuration.url),
            ("client_encoding", "UTF8"), ("options", options.joined(separator: " ")),
        ]
        if case .session(let session) = role, case .script = session.kind {
            settings.append(("application_name", configuration.applicationName + " migrations"))
        }
        self.settings = settings
    }

    /// The server settings of a session, as command-line options of its backend process.
    private static func options(_ configuration: PostgresConfiguration, for role: Connection.Role) -> [String] {
        var settings: [String: String] = ["TimeZone": "UTC"]
        if let name = configuration.role { settings["role"] = name }
        if let schema = configuration.schema {
            settings["search_path"] = PostgresQuery.quoted(identifier: schema)
        }
        var timeout = configuration.statementTimeout
        switch role {
        case .reads:
            settings["default_transaction_read_only"] = "on"
            settings.merge(configuration.readSettings) { _, new in new }
            timeout = configuration.readTimeout
        case .pooled: break
        case .session(let session):
            switch session.kind {
            case .dedicatedConnection(let statementTimeout, let own):
                timeout = statementTimeout
                settings.merge(own) { _, new in new }
            case .script(let options): settings.merge(options) { _, new in new }
            case .transaction: break
            }
        case .listener: break
        }
        let defaults = [
            "statement_timeout": "\(timeout.serverMilliseconds)",
            "idle_in_transaction_session_timeout": "\(configuration.idleTransactionTimeout.serverMilliseconds)",
        ]
        settings.merge(defaults) { set, _ in set }
        return settings.sorted { $0.key < $1.key }.map { "-c \($0.key)=\(escaped($0.value))" }
    }

    /// Escapes whitespace and backslashes, because the server splits options at unescaped spaces.
    private static func escaped(_ value: String) -> String {
        var escaped = ""
        for character in value {
            if character == "\\" || character.isWhitespace { escaped.append("\\") }
            escaped.append(character)
        }
        return escaped
    }

    /// Starts connecting; blocks while the host name is resolved.
    func start() -> OpaquePointer? {
        let keywords = settings.map { copyCString($0.keyword) }
        let values = settings.map { copyCString($0.value) }
        defer { for string in keywords + values { string?.deallocate() } }
        return (keywords.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer { keywords in
            (values.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer { values in
                // libpq expands the URL in `dbname`; parameters after it override the URL.
                PQconnectStartParams(keywords.baseAddress, values.baseAddress, 1)
            }
        }
    }

    private func copyCString(_ text: String) -> UnsafeMutablePointer<CChar>? {
        let bytes = text.utf8CString
        let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
        for (index, byte) in bytes.enumerated() { copy[index] = byte }
        return copy
    }
}
