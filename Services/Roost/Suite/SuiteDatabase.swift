import LocalPostgres
import Logging
import Postgres

/// Where each service's database is, made ready for it.
struct SuiteDatabase: Sendable {
    let settings: SuiteSettings
    let logger: Logger

    /// Prepares the operator's database, or the one that a private server holds, and answers each service's URL.
    func prepare(on server: PostgresServer? = nil, telling say: (String) -> Void) async throws -> [String: String] {
        var urls: [String: String]
        if let server {
            try await databases(server.url()).createDatabase("roost")
            urls = try await databases(server.url(database: "roost")).prepare()
        } else if let given = settings.databaseURL {
            do {
                urls = try await databases(given).prepare()
            } catch let error as PostgresError where error.sqlState == "42501" {
                say("the user of DATABASE_URL may not make roles, so all services connect as that user")
                let services = SuiteProgram.all.filter(\.hasDatabase)
                urls = Dictionary(uniqueKeysWithValues: services.map { ($0.name, given) })
            }
        } else {
            throw Workspace.Problem("there is no database: neither a private one nor DATABASE_URL")
        }
        for program in SuiteProgram.all {
            if let own = settings.given[program.databaseKey], !own.isEmpty {
                urls[program.name] = own
            }
        }
        return urls
    }

    private func databases(_ url: String) -> ServiceDatabases {
        ServiceDatabases(administrator: url, secrets: settings.secrets, logger: logger)
    }
}
