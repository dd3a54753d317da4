import SandboxServer

/// Made once for all tests, because the sandbox generates an RSA key.
private let sandboxKeys = Result { try SandboxKeys() }

extension SandboxConfiguration {
    /// A sandbox for one test, which generates no keys.
    static func small() throws -> SandboxConfiguration {
        var configuration = SandboxConfiguration()
        configuration.threads = 1
        configuration.keys = try sandboxKeys.get()
        return configuration
    }
}
