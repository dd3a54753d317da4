import GatewayServer

@main
enum Main {
    static func main() async {
        await GatewayHost.run()
    }
}
