import ServiceHost

/// Runs the sandbox as a process of the suite.
package enum SandboxHost {
    package static func run() async {
        await Boot.run("sandbox") { boot in
            [try Sandbox(SandboxConfiguration(reader: boot.configuration), logger: boot.logger)]
        }
    }
}
