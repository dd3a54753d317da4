import Configuration
import ServiceHost

/// The settings that only photos has.
struct PhotosConfiguration: Sendable {
    init() {}

    init(_ configuration: ConfigReader) throws {}
}
