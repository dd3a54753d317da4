import CLibpq

extension PostgresConfiguration {
    /// The server's address and credentials as libpq's environment variables (`PGHOST`, `PGPASSWORD`, …), for child
    /// processes.
    ///
    /// Command-line arguments would show the password to every user of the machine. Options without a variable
    /// (`keepalives`, `sslpassword`) are omitted.
    public var environment: [String: String] {
        var problem: UnsafeMutablePointer<CChar>?
        // The initializer has already validated the URL.
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
