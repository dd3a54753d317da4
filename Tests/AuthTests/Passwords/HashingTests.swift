import Foundation
import ServiceHost
import Synchronization
import Testing
import Wire

@testable import AuthServer

@Suite("Password hashing") struct HashingTests {
    @Test("A hash is salted, verifies its password and names its parameters")
    func saltedHash() throws {
        let quick = Argon2id.Parameters(memory: 64, passes: 1, lanes: 1)
        let one = try Argon2id.hash("secret", parameters: quick)
        let other = try Argon2id.hash("secret", parameters: quick)
        #expect(one != other)
        #expect(try Argon2id.verify("secret", against: one))
        #expect(try !Argon2id.verify("Secret", against: one))
        #expect(Argon2id.parameters(of: one) == quick)
    }

    /// A vector of the reference implementation's tests.
    @Test("A hash of the reference implementation verifies")
    func referenceHash() throws {
        let hash = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
        #expect(try Argon2id.verify("password", against: hash))
        #expect(Argon2id.parameters(of: hash) == .init(memory: 65_536, passes: 2, lanes: 1))
    }

    @Test(
        "A malformed or foreign hash has no parameters",
        arguments: ["", "x", "$argon2i$v=19$m=64,t=1,p=1$c29tZXNhbHQ$AAAA", "$2b$10$abcdefghijklmnopqrstuv"]
    )
    func malformedHash(_ text: String) {
        #expect(Argon2id.parameters(of: text) == nil)
    }

    @Test("A full queue refuses further jobs")
    func queueLimit() async throws {
        let threads = HashingThreads(count: 1, maximumWaiting: 2)
        let (began, signal) = AsyncStream<Void>.makeStream()
        let hold = DispatchSemaphore(value: 0)
        async let running: Void = threads.run {
            signal.yield()
            hold.wait()
        }
        for await _ in began { break }

        // The only thread is busy, so two jobs wait and all others are refused.
        let refused = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    do {
                        try await threads.run {}
                        return false
                    } catch {
                        return (error as? APIError)?.kind == .unavailable
                    }
                }
            }
            var refused = 0
            for await isRefused in group {
                if isRefused { refused += 1 }
                if refused == 8 { hold.signal() }
            }
            return refused
        }
        #expect(refused == 8)
        try await running
    }

    @Test("A cancelled job frees its place in the queue")
    func cancellation() async throws {
        let threads = HashingThreads(count: 1, maximumWaiting: 1)
        let (began, signal) = AsyncStream<Void>.makeStream()
        let hold = DispatchSemaphore(value: 0)
        async let running: Void = threads.run {
            signal.yield()
            hold.wait()
        }
        for await _ in began { break }

        let waiting = Task { try await threads.run {} }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        async let next = threads.run { 7 }
        hold.signal()
        #expect(try await next == 7)
        try await running
    }

    @Test("A job's error reaches the caller")
    func errors() async {
        struct Failure: Error {}
        let threads = HashingThreads(count: 1, maximumWaiting: 1)
        await #expect(throws: Failure.self) { try await threads.run { throw Failure() } }
    }
}

@Suite("Concurrency limit by key") struct KeyedConcurrencyLimitTests {
    @Test("One key runs one job at a time, lets few wait, and delays no other key")
    func serialAndBounded() async throws {
        let concurrencyLimit = KeyedConcurrencyLimit<String>(maximumWaiting: 3)
        let (began, signal) = AsyncStream<Void>.makeStream()
        let (hold, release) = AsyncStream<Void>.makeStream()
        let running = RunCounter()
        async let first: Void = concurrencyLimit.run("a") {
            signal.yield()
            for await _ in hold { break }
        }
        for await _ in began { break }

        // Another key is not delayed.
        try await concurrencyLimit.run("b") {}
        let refused = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    do {
                        try await concurrencyLimit.run("a") {
                            running.begin()
                            await Task.yield()
                            running.end()
                        }
                        return false
                    } catch {
                        return (error as? APIError)?.kind == .rateLimited
                    }
                }
            }
            var refused = 0
            for try await isRefused in group {
                if isRefused { refused += 1 }
                if refused == 5 { release.yield() }
            }
            return refused
        }
        #expect(refused == 5)
        #expect(running.most == 1)
        try await first
        #expect(try await concurrencyLimit.run("a") { 7 } == 7)
    }
}

/// Counts concurrent runs.
private final class RunCounter: Sendable {
    private let counts = Mutex((now: 0, most: 0))

    var most: Int { counts.withLock { $0.most } }

    func begin() { counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }

    func end() { counts.withLock { $0.now -= 1 } }
}

@Suite("Token encryption") struct TokenEncryptorTests {
    private let old = Data(repeating: 1, count: 32).base64EncodedString()
    private let new = String(repeating: "ab", count: 32)

    @Test("A ciphertext opens only for its row and unchanged")
    func associatedData() throws {
        let encryptor = try TokenEncryptor(keys: old)
        var ciphertext = try encryptor.seal(Data("secret".utf8), for: "row 1")
        #expect(ciphertext.box.range(of: Data("secret".utf8)) == nil)
        #expect(try encryptor.open(ciphertext, for: "row 1") == Data("secret".utf8))
        #expect(throws: TokenEncryptor.Failure.self) { try encryptor.open(ciphertext, for: "row 2") }
        ciphertext.box[ciphertext.box.startIndex + 13] ^= 1
        #expect(throws: TokenEncryptor.Failure.self) { try encryptor.open(ciphertext, for: "row 1") }
    }

    @Test("A new key encrypts while the old one still decrypts")
    func keyRotation() throws {
        let ciphertext = try TokenEncryptor(keys: old).seal(Data("secret".utf8), for: "row")
        let both = try TokenEncryptor(keys: "\(new), \(old)")
        #expect(try both.open(ciphertext, for: "row") == Data("secret".utf8))
        #expect(try both.seal(Data(), for: "row").keyID != ciphertext.keyID)
        #expect(throws: TokenEncryptor.Failure.self) { try TokenEncryptor(keys: new).open(ciphertext, for: "row") }
    }

    @Test("Malformed keys are refused", arguments: ["", ",", "short", "AAAA", String(repeating: "zz", count: 32)])
    func malformedKeys(_ text: String) {
        #expect(throws: TokenEncryptor.Failure.self) { try TokenEncryptor(keys: text) }
    }
}

@Suite("Address ranges") struct AddressTests {
    @Test("A range contains its addresses and no others")
    func ranges() throws {
        let ranges = try #require(AddressRanges("10.0.0.0/8, 192.168.4.0/22,::1,2001:db8::/33"))
        for address in ["10.255.0.1", "192.168.7.255", "::1", "2001:db8:7fff::1", "::ffff:10.0.0.1"] {
            #expect(ranges.contains(try #require(IPAddress(address))), "\(address)")
        }
        for address in ["11.0.0.1", "192.168.8.0", "::2", "2001:db8:8000::1", "127.0.0.1"] {
            #expect(!ranges.contains(try #require(IPAddress(address))), "\(address)")
        }
        #expect(AddressRanges.loopback.contains(try #require(IPAddress("127.8.8.8"))))
    }

    @Test(
        "A malformed range is refused",
        arguments: ["x", "10.0.0.0/33", "::1/129", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0.0/-1"]
    )
    func malformedRanges(_ text: String) {
        #expect(AddressRanges(text) == nil)
    }

    @Test(
        "A malformed address is refused",
        arguments: ["", "10.0.0", "10.0.0.256", "example.org", "1.2.3.4:80", ":::1"]
    )
    func malformedAddresses(_ text: String) {
        #expect(IPAddress(text) == nil)
    }
}
