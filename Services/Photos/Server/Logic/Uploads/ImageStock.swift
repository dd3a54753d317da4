import Blobs
import Configuration
import Images
import Postgres
import ServiceHost
import ServiceLifecycle

/// What photos keeps of images: how they come in, how they are read, and what sees that nothing is left behind.
struct ImageStock: Sendable {
    let uploads: Uploads
    let media: Media
    let upkeep: [any Service]

    init(
        _ settings: PhotosConfiguration,
        _ configuration: ConfigReader,
        people: People,
        links: MediaLinks,
        _ resources: ServiceResources
    ) throws {
        let (database, logger) = (resources.database, resources.logger)
        let blobs = try configuration.blobs(of: PhotosService.name)
        let workshop = try settings.workshop(logger)
        uploads = Uploads(
            database: database,
            people: people,
            blobs: blobs,
            scratch: try configuration.scratchFolder(of: PhotosService.name),
            preparation: ImagePreparation(workshop: workshop, pixels: settings.photoPixels),
            slots: UploadSlots(capacity: settings.maximumUploads, ofUser: settings.maximumUploadsOfUser),
            links: links,
            limits: settings.uploadLimits,
            logger: logger
        )
        media = Media(database: database, blobs: blobs, logger: logger)
        let sweep = UploadSweep(database: database, blobs: blobs)
        upkeep = [
            Periodic("expiry of uploads", every: .seconds(10), logger: logger, sweep.expire),
            Periodic("check of images that are known", every: .seconds(1), logger: logger, media.check),
            Periodic("sweep of images", every: .seconds(2), logger: logger, sweep.sweep),
            WorkshopClosing(workshop: workshop),
        ]
    }
}
