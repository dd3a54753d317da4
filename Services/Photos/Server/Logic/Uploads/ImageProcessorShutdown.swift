import Images
import ServiceLifecycle

/// Ends the image workers at shutdown.
struct ImageProcessorShutdown: Service {
    let imageProcessor: ImageProcessor

    func run() async throws {
        try? await gracefulShutdown()
        await imageProcessor.close()
    }
}
