import SandboxServer

@main
enum Main {
    static func main() async {
        await SandboxHost.run()
    }
}
