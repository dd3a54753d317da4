import Images
import ServiceLifecycle

struct ImageProcessorShutdown: Service {
    let imageProcessor: ImageProcessor

    func run() async throws {
        try? await gracefulShutdown()
        await imageProcessor.close()
    }
}
