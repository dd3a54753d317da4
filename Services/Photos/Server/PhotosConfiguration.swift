import Configuration
import Foundation
import Images
import Logging
import NetworkGuard
import ServiceHost

/// The settings that only photos has.
struct PhotosConfiguration: Sendable {
    /// `PHOTOS_MASK_SHOUTING` (0): texts of capitals and exclamation marks are put into small letters.
    var masksShouting = false
    /// `PHOTOS_MASK_WORDS` (none): words that stars take the place of; comma-separated, or the path of a file with them.
    var maskedWords: [String] = []

    /// `CONVERSATIONS_URL` is set: blocks from before are read there.
    var hasConversations = false
    /// `FOLLOWS_MAX_USER` (7,500): how many people one may follow, before 422.
    var maximumFollowsOfUser = 7_500
    /// `HOME_MERGE_FOLLOWERS_MIN` (10,000): how many follow somebody whose posts are merged into their home feeds when they
    /// are read, rather than copied.
    var mergedFollowers = 10_000

    /// `PHOTO_BYTES_MAX` (20,971,520): how large an image may be as it is sent, in bytes.
    var maximumPhotoBytes = 20_971_520
    /// `PHOTO_PIXELS_MAX` (50,000,000): how many pixels it may have.
    var maximumPhotoPixels = 50_000_000
    /// `PHOTO_WORKERS` (2): how many images are made smaller at once, each by a process of its own.
    var photoWorkers = 2
    /// `PHOTO_WORKERS_MEMORY_BYTES` (640,000,000): what these processes may have together while they work, in bytes.
    var photoWorkersMemory = 640_000_000
    /// `PENDING_UPLOADS_MAX` (100): uploads of one person that nothing has, before 429.
    var maximumPendingUploads = 100
    /// `STORAGE_QUOTA_BYTES`: bytes of images that one person may have, before 507.
    var quota = StorageQuota(bytes: 0)
    /// `UPLOADS_MAX` (256): how many files may be on their way at once before 503.
    var maximumUploads = 256
    /// `UPLOADS_MAX_USER` (8): of one user, before 429.
    var maximumUploadsOfUser = 8

    /// `TRUSTED_CA`: certificates of authorities that are trusted beside the machine's, PEM.
    var trustedCA: String?
    /// `ALLOWED_PRIVATE_HOSTS`: where else than at public addresses pictures of new people may be.
    var outsideHosts = AddressGuard()

    init() {}

    init(_ configuration: ConfigReader) throws {
        hasConversations = configuration.text("CONVERSATIONS_URL") != nil
        maximumFollowsOfUser = try configuration.number("FOLLOWS_MAX_USER", default: 7_500, in: 1...100_000)
        mergedFollowers = try configuration.number("HOME_MERGE_FOLLOWERS_MIN", default: 10_000, in: 1...1_000_000_000)
        masksShouting = try configuration.flag("PHOTOS_MASK_SHOUTING")
        maskedWords = try Self.words(configuration.text("PHOTOS_MASK_WORDS", default: ""))
        trustedCA = try configuration.key("TRUSTED_CA")
        outsideHosts = try AddressGuard(configuration)
        maximumPhotoBytes = try configuration.number("PHOTO_BYTES_MAX", default: maximumPhotoBytes, in: 1...(1 << 30))
        maximumPhotoPixels = try configuration.number(
            "PHOTO_PIXELS_MAX",
            default: maximumPhotoPixels,
            in: 1...1_000_000_000
        )
        photoWorkers = try configuration.number("PHOTO_WORKERS", default: photoWorkers, in: 1...256)
        photoWorkersMemory = try configuration.number(
            "PHOTO_WORKERS_MEMORY_BYTES",
            default: photoWorkersMemory,
            in: 100_000_000...(1 << 40)
        )
        maximumPendingUploads = try configuration.number(
            "PENDING_UPLOADS_MAX",
            default: maximumPendingUploads,
            in: 1...100_000
        )
        quota = try StorageQuota(configuration)
        maximumUploads = try configuration.number("UPLOADS_MAX", default: maximumUploads, in: 1...100_000)
        maximumUploadsOfUser = try configuration.number(
            "UPLOADS_MAX_USER",
            default: maximumUploadsOfUser,
            in: 1...100_000
        )
    }

    var uploadLimits: UploadLimits {
        UploadLimits(bytes: Int64(maximumPhotoBytes), pending: maximumPendingUploads, quota: quota)
    }

    /// What is done to texts before they are kept.
    var mask: TextMask { TextMask(stopsShouting: masksShouting, words: maskedWords) }

    /// Who makes images smaller; its program lies beside that of the service.
    func imageProcessor(_ logger: Logger) throws -> ImageProcessor {
        var imageProcessor = ImageProcessorConfiguration(
            worker: try ImageProcessorConfiguration.workerNextToExecutable()
        )
        imageProcessor.workers = photoWorkers
        imageProcessor.memory = photoWorkersMemory
        imageProcessor.reportMissingConfinement = { missing in
            logger.warning(
                "kernel does not confine the image worker fully",
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
            throw SettingError("PHOTOS_MASK_WORDS", "names the file \(setting), which cannot be read")
        }
    }

    private static func list(_ text: String) -> [String] {
        text.split { $0 == "," || $0.isNewline }.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }
}
