import ArgumentParser
import AuthAPI
import Foundation
import Wire

/// `roost demo`: a token of the account that is there to try things with.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Prints an access token of the account demo, which is linked to the sandbox's networks.",
        discussion: """
            roost up makes the account where it starts the sandbox; its password is DEMO_PASSWORD in .roost/secrets.env. \
            What was unlinked since is linked again.
            """
    )

    @OptionGroup var options: WorkspaceOptions

    func run() async throws {
        let settings = try SuiteSettings(workspace: try options.workspace())
        guard try settings.usesSandbox, let sandbox = settings.addresses(of: .sandbox).first else {
            throw Workspace.Problem("the sandbox does not run here; SANDBOX=1 has it run")
        }
        guard let password = settings.secret("DEMO_PASSWORD"), !password.isEmpty else {
            throw Workspace.Problem("there is no DEMO_PASSWORD in .roost/secrets.env: roost up makes it")
        }
        do {
            let networks = try await SandboxNetworks.read(from: sandbox)
            let demo = Demo(settings, networks: networks, password: password)
            let signIn = try await demo.prepare(relinking: false) {
                FileHandle.standardError.write(Data("\($0)\n".utf8))
            }
            print(signIn.jwt)
        } catch let error as APIError {
            throw Workspace.Problem(error.message)
        }
    }
}
