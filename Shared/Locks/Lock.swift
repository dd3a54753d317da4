@_exported public import Synchronization

#if !DEBUG
/// A mutual exclusion lock that guards a value and is held while a closure runs.
///
/// Code under the lock must not call anything that can call back. Debug builds check the order of locks; in this
/// release build, `Lock` is `Mutex`.
public typealias Lock = Mutex
#else
/// A mutual exclusion lock that guards a value and is held while a closure runs.
///
/// Code under the lock must not call anything that can call back. This is the checked version of debug builds; in
/// release builds `Lock` is `Mutex`.
///
/// The process stops when a thread acquires a lock that it already holds, two locks of one kind, or two kinds in both
/// orders. The kind of a lock is the source location that creates it.
public struct Lock<Value: ~Copyable>: ~Copyable {
    private let mutex: Mutex<Value>
    private let kind: LockKind

    /// Creates a lock that guards a value.
    ///
    /// - Parameters:
    ///   - value: the value to guard.
    ///   - file: the file of the lock's kind; omit it.
    ///   - line: the line of the lock's kind; omit it.
    public init(_ value: consuming sending Value, file: StaticString = #fileID, line: UInt = #line) {
        mutex = Mutex(value)
        kind = LockKind(file: file, line: line)
    }

    /// Runs a closure with exclusive access to the value; blocks until the lock is available.
    ///
    /// The process stops if acquiring the lock could lead to a deadlock.
    ///
    /// - Parameter body: runs with the value and must not call back or suspend.
    /// - Returns: the closure's value.
    /// - Throws: the closure's error.
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        let held = HeldLocks.current
        held.check(kind)
        held.push(kind)
        defer { held.pop(kind) }
        return try mutex.withLock(body)
    }

    /// Runs a closure with exclusive access to the value, or returns nil without waiting if another thread holds the
    /// lock.
    ///
    /// - Parameter body: runs with the value and must not call back or suspend.
    /// - Returns: the closure's value, or nil.
    /// - Throws: the closure's error.
    public borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        let held = HeldLocks.current
        held.push(kind)
        defer { held.pop(kind) }
        return try mutex.withLockIfAvailable(body)
    }
}

// Unchecked: the mutex synchronizes access to the value.
extension Lock: @unchecked Sendable where Value: ~Copyable {}
#endif

/// Checks of the locks that the calling thread holds.
public enum Locks {
    /// Stops the process in debug builds if the thread holds a lock, because the next action may call back.
    ///
    /// - Parameter action: the next action as a verb phrase for the message: "resume a continuation".
    #if DEBUG
    public static func assertNoneHeld(_ action: StaticString) { HeldLocks.current.assertEmpty(action) }
    #else
    @inlinable @inline(__always)
    public static func assertNoneHeld(_ action: StaticString) {}
    #endif
}
