#if DEBUG
import Glibc
import Synchronization

/// The locks that are made at one place in the code.
struct LockKind: Hashable, Sendable, CustomStringConvertible {
    private let file: Int
    private let line: UInt
    private let name: StaticString

    init(file: StaticString, line: UInt) {
        name = file
        // Equal files have equal pointers, but for code that several modules have inlined: that counts as other kinds.
        self.file = file.hasPointerRepresentation ? Int(bitPattern: file.utf8Start) : 0
        self.line = line
    }

    var description: String { "\(name):\(line)" }

    static func == (one: LockKind, other: LockKind) -> Bool { one.file == other.file && one.line == other.line }

    func hash(into hasher: inout Hasher) {
        hasher.combine(file)
        hasher.combine(line)
    }
}

/// The locks that one thread holds, and the orders in which any thread has ever taken two.
final class HeldLocks {
    private var kinds: [LockKind] = []

    /// For each kind, those that were taken while a lock of it was held.
    private static let orders = Mutex<[LockKind: Set<LockKind>]>([:])

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let problem = pthread_key_create(&key) { pointer in
            if let pointer { Unmanaged<HeldLocks>.fromOpaque(pointer).release() }
        }
        guard problem == 0 else { fatalError("no room for a thread's list of locks: \(problem)") }
        return key
    }()

    /// The calling thread's.
    static var current: HeldLocks {
        if let pointer = pthread_getspecific(key) {
            return Unmanaged<HeldLocks>.fromOpaque(pointer).takeUnretainedValue()
        }
        let made = HeldLocks()
        pthread_setspecific(key, Unmanaged.passRetained(made).toOpaque())
        return made
    }

    /// Ends the process where taking a lock of that kind now can stand still for ever, here or on another day.
    func check(_ kind: LockKind) {
        guard !kinds.isEmpty else { return }
        for held in kinds where held == kind {
            fatalError("lock \(kind) is taken while one of its kind is held: \(self)")
        }
        let held = kinds
        let opposite = Self.orders.withLock { orders -> LockKind? in
            for held in held where orders[held, default: []].insert(kind).inserted {
                if Self.leads(from: kind, to: held, in: orders) { return held }
            }
            return nil
        }
        if let opposite {
            fatalError("lock \(kind) is taken under \(opposite), and elsewhere \(opposite) under \(kind): \(self)")
        }
    }

    /// Whether a lock of one kind has been held, perhaps by way of others, where one of the other kind was taken.
    private static func leads(from: LockKind, to: LockKind, in orders: [LockKind: Set<LockKind>]) -> Bool {
        var seen: Set<LockKind> = [from]
        var next = [from]
        while let kind = next.popLast() {
            if kind == to { return true }
            for inner in orders[kind] ?? [] where seen.insert(inner).inserted { next.append(inner) }
        }
        return false
    }

    func push(_ kind: LockKind) { kinds.append(kind) }

    func pop(_ kind: LockKind) {
        guard kinds.popLast() == kind else { fatalError("lock \(kind) is not the last one taken: \(self)") }
    }

    func assertEmpty(_ action: StaticString) {
        guard kinds.isEmpty else { fatalError("about to \(action) while locks are held: \(self)") }
    }
}

extension HeldLocks: CustomStringConvertible {
    var description: String { kinds.map(\.description).joined(separator: ", ") }
}
#endif
