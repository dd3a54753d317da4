import ArgumentParser
import AuthAPI
import Foundation
import Wire

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Prints an access token of the account demo, which is linked to the sandbox's networks.",
        discussion: """
            roost up creates the account when it starts the sandbox; its password is DEMO_PASSWORD in \
            .roost/secrets.env. Networks that were unlinked are linked again.
            """
    )

    @OptionGroup var options: WorkspaceOptions

    func run() async throws {
        let settings = try SuiteSettings(workspace: try options.workspace())
        guard try settings.usesSandbox, let sandbox = settings.addresses(of: .sandbox).first else {
            throw Workspace.Problem("the sandbox does not run here; set SANDBOX=1 to start it")
        }
        guard let password = settings.secret("DEMO_PASSWORD"), !password.isEmpty else {
            throw Workspace.Problem("DEMO_PASSWORD is not in .roost/secrets.env; roost up creates it")
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
