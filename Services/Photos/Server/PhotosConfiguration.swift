import Configuration
import Foundation
import Images
import Logging
import NetworkGuard
import ServiceHost

struct PhotosConfiguration: Sendable {
    /// `PHOTOS_MASK_SHOUTING` (0): texts in capitals or with three exclamation marks are changed to small letters.
    var masksShouting = false
    /// `PHOTOS_MASK_WORDS` (none): words that are replaced with asterisks; comma-separated, or the path of a file.
    var maskedWords: [String] = []

    /// Whether `CONVERSATIONS_URL` is set; then the block backfill reads blocks from conversations.
    var hasConversations = false
    /// Users that one user may follow; one more gets 422.
    ///
    /// The limit of Instagram: more authors than a user can read, and few enough to check at each read of the feed.
    var maximumFollowsOfUser = 7_500
    /// From this number of followers on, an author's posts are merged into home feeds on read instead of being copied.
    ///
    /// A copied post takes a row for each follower, a merged author an index scan for each read. Few authors have
    /// 10,000 followers, so that a read merges few of them.
    var mergedFollowers = 10_000

    /// `PHOTO_BYTES_MAX` (20,971,520): maximum size of an uploaded image, in bytes.
    var maximumPhotoBytes = 20_971_520
    /// Maximum size of an uploaded image, in pixels.
    ///
    /// The main cameras of most phones have at most 50 megapixels. The memory of an image is also limited, by
    /// `PHOTO_WORKERS_MEMORY_BYTES`.
    var maximumPhotoPixels = 50_000_000
    /// `PHOTO_WORKERS` (2): images processed at the same time, each in a process of its own.
    var photoWorkers = 2
    /// `PHOTO_WORKERS_MEMORY_BYTES` (640,000,000): memory of all image workers together, in bytes.
    var photoWorkersMemory = 640_000_000
    /// Unused uploads of one user; one more gets 429.
    ///
    /// The images of ten posts: a client may prepare several posts, and no user stores many files without posting them.
    var maximumPendingUploads = 100
    /// `STORAGE_QUOTA_BYTES`: bytes of images that one user may store; more gets 507.
    var quota = StorageQuota(bytes: 0)
    /// Concurrent uploads of an instance; one more gets 503.
    var maximumUploads = UploadConcurrencyLimit.uploads
    /// Concurrent uploads of one user; one more gets 429.
    var maximumUploadsOfUser = UploadConcurrencyLimit.uploadsOfUser

    /// `TRUSTED_CA`: certificates, in PEM, of authorities that are trusted in addition to the system's.
    var trustedCA: String?
    /// `ALLOWED_PRIVATE_HOSTS`: hosts that are not public but from which avatars may be imported.
    var outsideHosts = AddressGuard()
    var liveUpdates = LiveUpdatesConfiguration()

    init() {}

    init(_ configuration: ConfigReader) throws {
        hasConversations = configuration.text("CONVERSATIONS_URL") != nil
        masksShouting = try configuration.flag("PHOTOS_MASK_SHOUTING")
        maskedWords = try Self.words(configuration.text("PHOTOS_MASK_WORDS", default: ""))
        trustedCA = try configuration.key("TRUSTED_CA")
        outsideHosts = try AddressGuard(configuration)
        maximumPhotoBytes = try configuration.number("PHOTO_BYTES_MAX", default: maximumPhotoBytes, in: 1...(1 << 30))
        photoWorkers = try configuration.number("PHOTO_WORKERS", default: photoWorkers, in: 1...256)
        photoWorkersMemory = try configuration.number(
            "PHOTO_WORKERS_MEMORY_BYTES",
            default: photoWorkersMemory,
            in: 100_000_000...(1 << 40)
        )
        quota = try StorageQuota(configuration)
        liveUpdates = try LiveUpdatesConfiguration(configuration)
    }

    var uploadLimits: UploadLimits {
        UploadLimits(bytes: Int64(maximumPhotoBytes), pending: maximumPendingUploads, quota: quota)
    }

    var mask: TextMask { TextMask(stopsShouting: masksShouting, words: maskedWords) }

    func imageProcessor(_ logger: Logger) throws -> ImageProcessor {
        var imageProcessor = ImageProcessorConfiguration(
            worker: try ImageProcessorConfiguration.workerNextToExecutable()
        )
        imageProcessor.workers = photoWorkers
        imageProcessor.memory = photoWorkersMemory
        imageProcessor.reportMissingConfinement = { missing in
            logger.warning(
                "image worker is not fully confined",
                metadata: ["missing": "\(missing.joined(separator: ", "))"]
            )
        }
        return ImageProcessor(imageProcessor)
    }

    private static func words(_ setting: String) throws -> [String] {
        guard setting.hasPrefix("/") || setting.hasPrefix("./") else { return list(setting) }
        do {
            return list(try String(contentsOf: URL(filePath: setting), encoding: .utf8))
        } catch {
            throw SettingError("PHOTOS_MASK_WORDS", "names a file that cannot be read: \(setting)")
        }
    }

    private static func list(_ text: String) -> [String] {
        text.split { $0 == "," || $0.isNewline }.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }
}
