import Blobs
import Configuration
import Images
import Postgres
import ServiceHost
import ServiceLifecycle

struct ImagesModule: Sendable {
    let uploads: Uploads
    let media: Media
    let maintenance: [any Service]

    init(
        _ settings: PhotosConfiguration,
        _ configuration: ConfigReader,
        people: People,
        links: MediaLinks,
        _ resources: ServiceResources
    ) throws {
        let (database, logger) = (resources.database, resources.logger)
        let blobs = try configuration.blobs(of: PhotosService.name)
        let imageProcessor = try settings.imageProcessor(logger)
        uploads = Uploads(
            database: database,
            people: people,
            blobs: blobs,
            scratch: try configuration.scratchFolder(of: PhotosService.name),
            preparation: ImagePreparation(imageProcessor: imageProcessor, pixels: settings.maximumPhotoPixels),
            slots: UploadConcurrencyLimit(capacity: settings.maximumUploads, ofUser: settings.maximumUploadsOfUser),
            links: links,
            limits: settings.uploadLimits,
            logger: logger
        )
        media = Media(database: database, blobs: blobs, logger: logger)
        let cleanup = UploadCleanup(database: database, blobs: blobs)
        maintenance = [
            PeriodicTask("expiry of uploads", every: .seconds(10), logger: logger, cleanup.expire),
            PeriodicTask("revalidation of cached images", every: .seconds(1), logger: logger, media.revalidate),
            PeriodicTask("deletion of images", every: .seconds(2), logger: logger, cleanup.deleteDue),
            ImageProcessorShutdown(imageProcessor: imageProcessor),
        ]
    }
}
