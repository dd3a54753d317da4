import LocalPostgres
import Logging
import Postgres

struct SuiteDatabase: Sendable {
    /// The name of the database in a private server.
    private static let name = "roost"

    let settings: SuiteSettings
    let logger: Logger

    /// Prepares the operator's database, or that of a private server, and returns each service's connection URL.
    func prepare(on server: PostgresServer? = nil, reporting report: (String) -> Void) async throws -> [String: String]
    {
        var urls: [String: String]
        if let server {
            try await createDatabase(on: server)
            urls = try await databases(server.url(database: Self.name)).prepare()
        } else if let given = settings.databaseURL {
            do {
                urls = try await databases(given).prepare()
            } catch let error as PostgresError where error.sqlState == "42501" {
                report("the user of DATABASE_URL may not create roles, so all services connect as that user")
                let services = SuiteProgram.all.filter(\.hasDatabase)
                urls = Dictionary(uniqueKeysWithValues: services.map { ($0.name, given) })
            }
        } else {
            throw Workspace.Problem("there is no database: no private server runs and DATABASE_URL is not set")
        }
        for program in SuiteProgram.all {
            if let own = settings.given[program.databaseKey], !own.isEmpty {
                urls[program.name] = own
            }
        }
        return urls
    }

    func createDatabase(on server: PostgresServer) async throws {
        try await databases(server.url()).createDatabase(Self.name)
    }

    /// Returns the administrator's connection URL for each service's schema, by service name; changes nothing.
    func administrators(on server: PostgresServer? = nil) throws -> [String: String] {
        guard let main = server?.url(database: Self.name) ?? settings.databaseURL else {
            throw Workspace.Problem("there is no database: no private server runs and DATABASE_URL is not set")
        }
        let services = SuiteProgram.all.filter(\.hasDatabase)
        return Dictionary(
            uniqueKeysWithValues: services.map { program in
                (program.name, settings.given[program.databaseKey].flatMap { $0.isEmpty ? nil : $0 } ?? main)
            }
        )
    }

    private func databases(_ url: String) -> ServiceDatabases {
        ServiceDatabases(administrator: url, secrets: settings.secrets, logger: logger)
    }
}
