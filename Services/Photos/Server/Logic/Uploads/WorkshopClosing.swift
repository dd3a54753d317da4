import Images
import ServiceLifecycle

/// Ends the processes that make images smaller, once nobody asks for any more.
struct WorkshopClosing: Service {
    let workshop: ImageWorkshop

    func run() async throws {
        try? await gracefulShutdown()
        await workshop.close()
    }
}
