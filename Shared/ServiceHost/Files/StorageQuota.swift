package import Configuration
package import Wire

/// How many bytes of files one user may have in a service.
package struct StorageQuota: Sendable {
    /// In bytes.
    package let maximum: Int64

    /// - Parameter bytes: 0 is no limit.
    package init(bytes: Int64) {
        maximum = bytes > 0 ? bytes : .max
    }

    /// `STORAGE_QUOTA_BYTES` (5,368,709,120): bytes of files that one user may have in this service; 0 is no limit.
    package init(_ configuration: ConfigReader) throws {
        let bytes = try configuration.number("STORAGE_QUOTA_BYTES", default: 5_368_709_120, in: 0...(1 << 50))
        self.init(bytes: Int64(bytes))
    }

    package var error: APIError {
        APIError(
            .insufficientStorage,
            "storage_quota_exceeded",
            "your files may have \(maximum) bytes in all here; delete some, then try again"
        )
    }

    /// - Parameters:
    ///   - used: the bytes that the user has.
    ///   - room: the bytes that are to come, at least.
    /// - Throws: ``error`` where they are too many.
    package func require(_ used: Int64, room: Int64) throws {
        let (sum, overflows) = used.addingReportingOverflow(room)
        guard !overflows, sum <= maximum else { throw error }
    }
}
