package import Blobs
package import Configuration
import Wire

/// Where files are kept: settings that every service that keeps some reads alike.
extension ConfigReader {
    /// A service's files: in a folder of this machine, or in a bucket where `S3_BUCKET` names one.
    ///
    /// - `BLOBS_PATH` (.roost/blobs): the folder of all services' files, each service's below it by its name; with a
    ///   bucket, parts of files lie in `parts` below it until they are sent.
    /// - `S3_BUCKET`: a bucket that is there. With it `S3_ACCESS_KEY` and `S3_SECRET_KEY`.
    /// - `S3_REGION` (us-east-1) and `S3_ENDPOINT` (Amazon's of that region): where it is.
    /// - `S3_PREFIX`: what all names in the bucket begin with, before the service's name.
    /// - `S3_TIMEOUT` (30): seconds that a request may take, 8 MiB sent with it included.
    /// - `TRUSTED_CA`: authorities that are trusted beside the machine's.
    ///
    /// It works on the disk: make a store when a process starts.
    package func blobs(of service: String) throws -> any BlobStore {
        let folder = text("BLOBS_PATH", default: ".roost/blobs")
        guard let bucket = text("S3_BUCKET") else {
            guard text("S3_ENDPOINT") == nil else { throw SettingError("S3_BUCKET", "is not set, and S3_ENDPOINT is") }
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
        s3.timeout = .seconds(try number("S3_TIMEOUT", default: 30, in: 1...3_600))
        s3.trustedAuthorities = try key("TRUSTED_CA")
        do {
            return try Self.writing(to: folder) { [s3] in try S3BlobStore(s3) }
        } catch let error as S3ConfigurationError {
            throw Self.settingError(error, s3)
        }
    }

    /// A folder for what a service looks at before it keeps it, on the same disk as `BLOBS_PATH`.
    package func scratchFolder(of service: String) throws -> ScratchFolder {
        let folder = text("BLOBS_PATH", default: ".roost/blobs")
        return try Self.writing(to: folder) { try ScratchFolder(in: "\(folder)/\(service)/incoming/scratch") }
    }

    private func secret(_ name: String, neededBy other: String) throws -> String {
        guard let value = string(forKey: ConfigKey([name]), isSecret: true), !value.isEmpty else {
            throw SettingError(name, "is not set, and \(other) is")
        }
        return value
    }

    private static func writing<Store>(to folder: String, _ make: () throws -> Store) throws -> Store {
        do {
            return try make()
        } catch let error as S3ConfigurationError {
            throw error
        } catch {
            throw SettingError("BLOBS_PATH", "is \"\(folder)\", which cannot be written to: \(error)")
        }
    }

    private static func settingError(_ error: S3ConfigurationError, _ s3: S3Configuration) -> SettingError {
        switch error {
        case .endpoint: SettingError("S3_ENDPOINT", "is \"\(s3.endpoint)\"; it must be https://host, without a path")
        case .bucket: SettingError("S3_BUCKET", "is \"\(s3.bucket)\", which is no name of a bucket")
        case .prefix: SettingError("S3_PREFIX", "must be names of letters, digits, -, _ and ., with slashes between")
        case .trustedAuthorities: SettingError("TRUSTED_CA", "holds no certificates that can be read")
        }
    }
}

extension APIError {
    /// What a store of files says, in a client's terms; what it is worth to an operator is for the log.
    package init?(blobs error: any Error) {
        switch error as? BlobError {
        case .tooLarge(let limit):
            self.init(.tooLarge, "file_too_large", "a file may have \(limit) bytes here", field: "file")
        case .noSpace: self.init(.insufficientStorage, "storage_full", "there is no space left for files")
        case .unavailable: self = .unavailable("the store of files", retryAfter: 5)
        case .failed, nil: return nil
        }
    }
}
