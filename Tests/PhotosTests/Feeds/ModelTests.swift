import Foundation
import PhotosAPI
import TestSupport
import Testing
import Wire

@testable import PhotosServer

/// Feeds, counts and lists agree with a plain model after any history.
@Suite("Random histories") struct ModelTests {
    private static let people = 20
    /// The number of steps of each history; with `SOAK=1` the test runs long.
    private static let steps = ProcessInfo.processInfo.environment["SOAK"] == "1" ? 10_000 : 150
    /// The number of steps after which every user is compared with every other.
    private static let fullComparisonInterval = 75

    /// Seed 2 has a merge threshold so low that the posts of half of the users are merged.
    @Test("The service on two instances agrees with the model after every step", arguments: [UInt64(1), 2])
    func randomHistories(seed: UInt64) async throws {
        func change(_ configuration: inout PhotosConfiguration) {
            if seed != 1 { configuration.mergedFollowers = 4 }
        }
        try await withPhotos(change: change) { fixture in
            try await withSecondInstance(of: fixture, change: change) { second in
                var history = try await Self.history(fixture, second, seed: seed)
                for step in 1...Self.steps {
                    let what = try await history.step()
                    let differences = try await Self.differences(&history, after: step)
                    #expect(differences.isEmpty, "seed \(seed), step \(step), \(what)")
                    guard differences.isEmpty else { return }
                }
                #expect(try await fixture.followInconsistencies() == [])
                #expect(try await fixture.countInconsistencies() == [])
            }
        }
    }

    private static func history(
        _ fixture: PhotosFixture,
        _ second: TestService,
        seed: UInt64
    ) async throws -> RandomHistory {
        var testUsers: [[TestUser]] = []
        for number in 0..<people {
            let name = User.ID(application: PhotosFixture.application, user: "p\(number)")
            let one = try await TestUser(name, at: fixture.service, fixture.auth)
            try await fixture.createProfiles(one)
            testUsers.append([one, try await TestUser(name, at: second, fixture.auth)])
        }
        return try RandomHistory(fixture, testUsers: testUsers, seed: seed)
    }

    /// Compares all home feeds after every step, one user's other lists for one reader, and periodically everything.
    private static func differences(_ history: inout RandomHistory, after step: Int) async throws -> [String] {
        var differences: [String] = []
        let isWhole = step.isMultiple(of: fullComparisonInterval)
        let watched = Int.random(in: 0..<people, using: &history.random)
        for reader in 0..<people {
            let others = isWhole ? Array(0..<people) : reader == watched ? [(step + reader) % people] : []
            differences += try await history.differences(for: reader, of: others)
        }
        return differences
    }
}
