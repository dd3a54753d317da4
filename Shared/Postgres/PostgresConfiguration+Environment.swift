import CLibpq

extension PostgresConfiguration {
    /// The server as libpq's environment variables (`PGHOST`, `PGPASSWORD`, …), for a program that is to reach it too.
    ///
    /// In a program's arguments everybody on the machine could read the password. What has no variable (`keepalives`,
    /// `sslpassword`) is left out.
    public var environment: [String: String] {
        var problem: UnsafeMutablePointer<CChar>?
        // Parsed once already, when the configuration was made.
        guard let parsed = PQconninfoParse(url, &problem) else {
            PQfreemem(problem)
            return [:]
        }
        defer { PQconninfoFree(parsed) }
        var variables: [String: String] = [:]
        var option = parsed
        while option.pointee.keyword != nil {
            if let name = option.pointee.envvar, let value = option.pointee.val {
                variables[String(cString: name)] = String(cString: value)
            }
            option += 1
        }
        return variables
    }
}
