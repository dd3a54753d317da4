package import Blobs
package import Configuration
import Wire

/// The settings of the file storage, which are the same in all services.
extension ConfigReader {
    /// Returns the file storage of a service: a folder on this machine, or a bucket if `S3_BUCKET` is set.
    ///
    /// - `BLOBS_PATH` (.roost/blobs): the folder of all services' files, with a subfolder for each service. With a
    ///   bucket, the parts of multipart uploads are buffered in its subfolder `parts`.
    /// - `S3_BUCKET`: an existing bucket; requires `S3_ACCESS_KEY` and `S3_SECRET_KEY`.
    /// - `S3_REGION` (us-east-1) and `S3_ENDPOINT` (Amazon's endpoint of the region): the bucket's location.
    /// - `S3_PREFIX`: the prefix of all keys in the bucket, before the service's name.
    /// - `TRUSTED_CA`: additional certificate authorities.
    ///
    /// This function accesses the disk; create a store once when a process starts.
    ///
    /// - Parameter service: the service's name.
    /// - Returns: the file storage.
    /// - Throws: a `SettingError` if a setting is invalid or the folder is not writable.
    package func blobs(of service: String) throws -> any BlobStore {
        let folder = text("BLOBS_PATH", default: ".roost/blobs")
        guard let bucket = text("S3_BUCKET") else {
            guard text("S3_ENDPOINT") == nil else { throw SettingError("S3_BUCKET", "must be set if S3_ENDPOINT is") }
            return try Self.writing(to: folder) { try FolderBlobStore(path: "\(folder)/\(service)") }
        }
        let region = text("S3_REGION", default: "us-east-1")
        var s3 = S3Configuration(
            endpoint: try url("S3_ENDPOINT", default: "https://s3.\(region).amazonaws.com"),
            bucket: bucket,
            region: region,
            accessKey: try secret("S3_ACCESS_KEY", neededBy: "S3_BUCKET"),
            secretKey: try secret("S3_SECRET_KEY", neededBy: "S3_BUCKET"),
            temporaryFolder: "\(folder)/parts"
        )
        var prefix = text("S3_PREFIX", default: "")
        if !prefix.isEmpty, !prefix.hasSuffix("/") { prefix += "/" }
        s3.prefix = "\(prefix)\(service)/"
        s3.trustedAuthorities = try key("TRUSTED_CA")
        do {
            return try Self.writing(to: folder) { [s3] in try S3BlobStore(s3) }
        } catch let error as S3ConfigurationError {
            throw Self.settingError(error, s3)
        }
    }

    /// Returns a folder for files that a service inspects before it stores them, on the same disk as `BLOBS_PATH`.
    package func scratchFolder(of service: String) throws -> ScratchFolder {
        let folder = text("BLOBS_PATH", default: ".roost/blobs")
        return try Self.writing(to: folder) { try ScratchFolder(in: "\(folder)/\(service)/incoming/scratch") }
    }

    private func secret(_ name: String, neededBy other: String) throws -> String {
        guard let value = string(forKey: ConfigKey([name]), isSecret: true), !value.isEmpty else {
            throw SettingError(name, "must be set if \(other) is")
        }
        return value
    }

    private static func writing<Store>(to folder: String, _ make: () throws -> Store) throws -> Store {
        do {
            return try make()
        } catch let error as S3ConfigurationError {
            throw error
        } catch {
            throw SettingError("BLOBS_PATH", "is \"\(folder)\", which is not writable: \(error)")
        }
    }

    private static func settingError(_ error: S3ConfigurationError, _ s3: S3Configuration) -> SettingError {
        switch error {
        case .endpoint: SettingError("S3_ENDPOINT", "is \"\(s3.endpoint)\"; it must be https://host, without a path")
        case .bucket: SettingError("S3_BUCKET", "is \"\(s3.bucket)\", which is not a valid bucket name")
        case .prefix: SettingError("S3_PREFIX", "may contain letters, digits, -, _ and ., separated by slashes")
        case .trustedAuthorities: SettingError("TRUSTED_CA", "contains no valid PEM certificates")
        }
    }
}

extension APIError {
    /// The error of the file storage that a client receives; details for the operator are logged.
    package init?(blobs error: any Error) {
        switch error as? BlobError {
        case .tooLarge(let limit):
            self.init(.tooLarge, "file_too_large", "a file may have at most \(limit) bytes", field: "file")
        case .noSpace: self.init(.insufficientStorage, "storage_full", "there is no space left for files")
        case .unavailable: self = .unavailable("the file storage", retryAfter: 5)
        case .failed, nil: return nil
        }
    }
}
