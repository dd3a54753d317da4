import ChildProcesses
import ConversationsAPI
import Foundation
import Glibc
import LocalPostgres
import Logging
import Postgres
import Testing

extension SuiteTests {
    @Suite("Backup and restore") struct BackupTests {
        private static let unlimited = ["RATE_USER": "0", "RATE_ADDRESS": "0", "RATE_REGISTER": "0"]

        @Test("A backup under load has every message that was acknowledged before it")
        func underLoad() async throws {
            try await RunningSuite.with(settings: Self.unlimited) { suite in
                let people = [try await suite.person("ana"), try await suite.person("bo")]
                let made = try await people[0].conversations.create(ConversationDraft(label: "load"))
                try await people[1].conversations.join(made.token)
                let load = MessageLoad(token: made.token, people: people, senders: 16)
                let sending = Task { try await load.run(messages: SuiteTests.isSoak ? 500 : 60) }
                try await eventually(within: .seconds(60), "under way") { load.acknowledgedInLastRun >= 100 }
                let before = load.acknowledged

                let path = "\(suite.directory)/backup"
                let backup = try await suite.roost("backup", path, "--verify").run(within: .seconds(120))

                #expect(backup.status.isSuccess, "\(backup.output)")
                #expect(backup.output.contains("the backup can be restored and is complete"))
                try await sending.value
                try await load.check(by: people[0])
                try await Self.restoreElsewhere(path, of: suite, load, atLeast: before)
            }
        }

        /// Restores into an empty checkout with the same secrets, starts it, and reads the history as a user.
        private static func restoreElsewhere(
            _ path: String,
            of suite: RunningSuite,
            _ load: MessageLoad,
            atLeast before: [String: Int64]
        ) async throws {
            try await RunningSuite.with(settings: Self.unlimited, isStarted: false) { other in
                let without = try await other.roost("restore", path).run(within: .seconds(30))
                #expect(without.status == .code(1))
                #expect(without.output.contains("TOKEN_ENCRYPTION_KEY is not set"))

                try other.copySecrets(of: suite)
                let restored = try await other.roost("restore", path).run(within: .seconds(120))
                #expect(restored.status.isSuccess, "\(restored.output)")
                try await other.start()

                // Ana's password is valid, every acknowledged message is there, and the next message follows them.
                let ana = try await other.signInAgain("ana")
                try await load.check(by: ana, atLeast: before)
                let history = try await ana.conversations.messages(load.token, query: [("count", "1")])
                let next = try await ana.conversations.send(MessageDraft(data: "back again"), to: load.token)
                #expect(next.seq == (history.first?.seq ?? 0) + 1)

                let running = try await other.roost("restore", path, "--replace").run(within: .seconds(30))
                #expect(running.status == .code(1))
                #expect(running.output.contains("already runs for this checkout"))
            }
        }

        @Test("A backup is readable by its owner only, has valid checksums, and can be repeated")
        func permissions() async throws {
            try await Self.withDatabase { suite in
                let path = "\(suite.directory)/backup"

                let first = try await suite.roost("backup", path).run(within: .seconds(60))
                #expect(first.status.isSuccess, "\(first.output)")
                let again = try await suite.roost("backup", path).run(within: .seconds(60))
                #expect(again.status.isSuccess, "\(again.output)")

                let names = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
                let whole = [
                    "SHA256SUMS", "auth.dump", "conversations.dump", "manifest.json", "photos.dump", "push.dump",
                    "social.dump",
                ]
                #expect(names.filter { !$0.hasPrefix("roost-") } == whole)
                #expect(names.count == whole.count + 1)
                for name in names {
                    let mode = try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")[.posixPermissions]
                    #expect(mode as? Int == (name.hasPrefix("roost-") ? 0o700 : 0o600), "\(name)")
                }
                let check = ProcessCommand(
                    "sha256sum",
                    ["--check", "--strict", "SHA256SUMS"],
                    environment: suite.environment,
                    workingDirectory: path
                )
                let (status, output) = try await check.run(within: .seconds(10))
                #expect(status.isSuccess, "\(output)")
            }
        }

        @Test("Uploads are restored, and a damaged upload is detected")
        func uploads() async throws {
            try await Self.withDatabase { suite in
                let blobs = "\(suite.directory)/.roost/blobs/conversations"
                for (name, text) in ["ab/abc": "a picture", "cd/cde": "a song", "incoming/1": "half of a"] {
                    let file = URL(filePath: "\(blobs)/\(name)")
                    try FileManager.default.createDirectory(
                        at: file.deletingLastPathComponent(),
                        withIntermediateDirectories: true
                    )
                    try Data(text.utf8).write(to: file)
                }
                let path = "\(suite.directory)/backup"
                let backup = try await suite.roost("backup", path).run(within: .seconds(60))
                #expect(backup.output.contains("2 uploads"), "\(backup.output)")
                try FileManager.default.removeItem(atPath: "\(blobs)/ab/abc")

                let restored = try await suite.roost("restore", path, "--replace").run(within: .seconds(60))

                #expect(restored.status.isSuccess, "\(restored.output)")
                #expect(try String(contentsOfFile: "\(blobs)/ab/abc", encoding: .utf8) == "a picture")
                try Data("another song".utf8).write(to: URL(filePath: "\(path)/files/conversations/cd/cde"))
                let damaged = try await suite.roost("restore", path, "--replace").run(within: .seconds(60))
                #expect(damaged.status == .code(2))
                #expect(damaged.output.contains("cd/cde has changed since the backup"), "\(damaged.output)")
            }
        }

        @Test("A damaged backup is rejected with the cause")
        func damagedBackup() async throws {
            try await Self.withDatabase { suite in
                let path = "\(suite.directory)/backup"
                _ = try await suite.roost("backup", path).run(within: .seconds(60))

                for (damage, words) in BackupCorruption.all {
                    let copy = "\(suite.directory)/damaged"
                    try FileManager.default.copyItem(atPath: path, toPath: copy)
                    try damage(copy)

                    let result = try await suite.roost("restore", copy, "--replace").run(within: .seconds(60))

                    #expect(result.output.contains(words), "\(result.output)")
                    #expect(result.status == .code(words.contains("newer release") ? 1 : 2), "\(words)")
                    try FileManager.default.removeItem(atPath: copy)
                }
                // The undamaged backup can still be restored.
                let again = try await suite.roost("restore", path, "--dry-run").run(within: .seconds(60))
                #expect(again.status.isSuccess, "\(again.output)")
            }
        }

        @Test("A restore into a database with tables requires --replace")
        func nonEmptyDatabase() async throws {
            try await Self.withDatabase { suite in
                let path = "\(suite.directory)/backup"
                _ = try await suite.roost("backup", path).run(within: .seconds(60))

                let refused = try await suite.roost("restore", path).run(within: .seconds(60))
                #expect(refused.status == .code(1))
                #expect(refused.output.contains("the database has tables in auth, conversations"), "\(refused.output)")

                let replaced = try await suite.roost("restore", path, "--replace").run(within: .seconds(60))
                #expect(replaced.status.isSuccess, "\(replaced.output)")
            }
        }

        @Test("A backup that cannot be written fails, and leaves no files")
        func unwritableTarget() async throws {
            try await Self.withDatabase { suite in
                let parent = "\(suite.directory)/place"
                try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)

                let missing = try await suite.roost("backup", "\(parent)/missing/backup").run(within: .seconds(60))
                #expect(missing.status == .code(1))
                #expect(missing.output.contains("cannot create a folder in \(parent)/missing"), "\(missing.output)")

                // A limit of 4 kB for files acts like a full disk.
                var full = suite.roost("backup", "\(parent)/backup")
                full.arguments = ["-c", "ulimit -f 4; exec \"$0\" \"$@\"", full.executable] + full.arguments
                full.executable = "bash"
                let (status, output) = try await full.run(within: .seconds(60))
                #expect(status == .code(1), "\(output)")
                #expect(output.contains("pg_dump of auth failed"), "\(output)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: parent).isEmpty)
            }
        }

        @Test("An interrupted backup leaves no files")
        func interruptedBackup() async throws {
            try await Self.withDatabase { suite in
                let parent = "\(suite.directory)/place"
                try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
                let url = try #require(suite.environment["DATABASE_URL"])
                let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                let pool = PostgresPool(configuration: try PostgresConfiguration(url: url), logger: logger)

                // The lock makes the backup wait.
                let status = try await pool.transaction { transaction in
                    _ = try await transaction.execute("LOCK TABLE auth.accounts IN ACCESS EXCLUSIVE MODE")
                    let backup = try await ChildProcess.start(suite.roost("backup", "\(parent)/backup"))
                    try await eventually(within: .seconds(30), "waiting for the lock") {
                        try await transaction.one(
                            "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted) AS is_waiting",
                            as: { try $0.bool("is_waiting") }
                        )
                    }
                    #expect(try FileManager.default.contentsOfDirectory(atPath: parent).count == 1)
                    backup.signal(SIGINT)
                    return await backup.exit(within: .seconds(30))
                }
                await pool.shutdown()

                #expect(status == .code(130))
                #expect(try FileManager.default.contentsOfDirectory(atPath: parent).isEmpty)
            }
        }

        @Test("A backup of a newer PostgreSQL server or program is rejected")
        func incompatibleServer() async throws {
            try await Self.withDatabase { suite in
                let path = "\(suite.directory)/backup"
                _ = try await suite.roost("backup", path).run(within: .seconds(60))
                try BackupCorruption.rewrite(path) {
                    $0.replacing("\"serverVersion\" : 15", with: "\"serverVersion\" : 99")
                }
                let server = try await suite.roost("restore", path, "--dry-run").run(within: .seconds(60))
                #expect(server.status == .code(1))
                #expect(server.output.contains("the backup is from PostgreSQL 99"), "\(server.output)")

                try BackupCorruption.rewrite(path) {
                    $0.replacing("\"programVersion\" : 15", with: "\"programVersion\" : 98")
                }
                let program = try await suite.roost("restore", path, "--dry-run").run(within: .seconds(60))
                #expect(program.status == .code(1))
                #expect(program.output.contains("pg_restore of PostgreSQL 98 or newer is needed"), "\(program.output)")
            }
        }

        /// Runs a checkout with a migrated and unused database of an external server.
        private static func withDatabase(_ body: (RunningSuite) async throws -> Void) async throws {
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let server = try await PostgresServer.temporary(logger: logger)
            do {
                try await RunningSuite.with(settings: ["DATABASE_URL": server.url()], isStarted: false) { suite in
                    let (status, output) = try await suite.roost("migrate").run(within: .seconds(120))
                    try #require(status.isSuccess, "\(output)")
                    try await body(suite)
                }
                await server.discard()
            } catch {
                await server.discard()
                throw error
            }
        }
    }
}
