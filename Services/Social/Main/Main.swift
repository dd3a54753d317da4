import ServiceHost
import SocialServer

@main
enum Main {
    static func main() async throws { try await ServiceHost.run(SocialService.self) }
}
