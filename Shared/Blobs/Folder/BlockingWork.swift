import NIOPosix

/// Runs blocking work on a thread pool.
///
/// Cancelling the calling task does not interrupt work that has begun.
struct BlockingWork: Sendable {
    let pool: NIOThreadPool

    func callAsFunction<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            pool.submit { _ in continuation.resume(with: Result { try work() }) }
        }
    }

    /// Runs work that cannot fail.
    func uncancellable(_ work: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            pool.submit { _ in
                work()
                continuation.resume()
            }
        }
    }
}
