package import Configuration
package import Wire

/// The maximum size of a user's files in a service.
package struct StorageQuota: Sendable {
    /// The limit in bytes.
    package let maximum: Int64

    /// Creates a quota in bytes; 0 is unlimited.
    package init(bytes: Int64) {
        maximum = bytes > 0 ? bytes : .max
    }

    /// Reads `STORAGE_QUOTA_BYTES` (5,368,709,120): the limit of a user's files in this service; 0 is unlimited.
    package init(_ configuration: ConfigReader) throws {
        let bytes = try configuration.number("STORAGE_QUOTA_BYTES", default: 5_368_709_120, in: 0...(1 << 50))
        self.init(bytes: Int64(bytes))
    }

    package var error: APIError {
        APIError(
            .insufficientStorage,
            "storage_quota_exceeded",
            "your files may have at most \(maximum) bytes in this service; delete some and try again"
        )
    }

    /// Throws if a user's files would exceed the quota.
    ///
    /// - Parameters:
    ///   - used: the size of the user's files in bytes.
    ///   - room: the minimum size of the new file in bytes.
    /// - Throws: ``error`` if the sum exceeds the quota.
    package func require(_ used: Int64, room: Int64) throws {
        let (sum, overflows) = used.addingReportingOverflow(room)
        guard !overflows, sum <= maximum else { throw error }
    }
}
