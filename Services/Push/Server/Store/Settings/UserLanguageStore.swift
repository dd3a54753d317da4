import Postgres
import Wire

struct UserLanguageStore<Executor: PostgresExecutor> {
    let db: Executor

    func set(_ language: String, of user: User.ID) async throws {
        try await db.run(
            """
            INSERT INTO user_languages (application_id, user_id, language)
            VALUES (\(user.application), \(user.user), \(language))
            ON CONFLICT ON CONSTRAINT user_languages_pkey DO UPDATE SET language = excluded.language
            """
        )
    }

    func delete(of user: User.ID) async throws {
        try await db.run(
            "DELETE FROM user_languages WHERE application_id = \(user.application) AND user_id = \(user.user)"
        )
    }
}
