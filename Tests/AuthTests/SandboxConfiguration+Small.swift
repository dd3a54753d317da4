import SandboxServer

/// Made once for all tests: an account at the sandbox has a key of RSA.
private let sandboxKeys = Result { try SandboxKeys() }

extension SandboxConfiguration {
    /// A sandbox of a test's own, which makes no keys.
    static func small() throws -> SandboxConfiguration {
        var configuration = SandboxConfiguration()
        configuration.threads = 1
        configuration.keys = try sandboxKeys.get()
        return configuration
    }
}
