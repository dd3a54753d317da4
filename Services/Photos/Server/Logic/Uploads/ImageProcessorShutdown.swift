import Images
import ServiceLifecycle

/// Ends the processes that make images smaller, once nobody asks for any more.
struct ImageProcessorShutdown: Service {
    let imageProcessor: ImageProcessor

    func run() async throws {
        try? await gracefulShutdown()
        await imageProcessor.close()
    }
}
