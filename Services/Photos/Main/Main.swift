import PhotosServer
import ServiceHost

@main
enum Main {
    static func main() async throws { try await ServiceHost.run(PhotosService.self) }
}
