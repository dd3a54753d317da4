import ChildProcesses
import Credentials
import Foundation
import Glibc
import LocalPostgres

struct MachineChecks: Sendable {
    let workspace: Workspace
    let settings: SuiteSettings

    func findings() async -> [Finding] {
        [await toolchain(), postgres(), executables(), diskSpace(), descriptors()] + secrets()
    }

    private func toolchain() async -> Finding {
        let command = ProcessCommand("swift", ["--version"], environment: ProcessInfo.processInfo.environment)
        // A failure is ignored, because the finding reports it.
        guard let (status, output) = try? await command.run(within: .seconds(30)), status.isSuccess,
            let version = output.firstMatch(of: #/Swift version (\d+)\.(\d+)[^ ]*/#)
        else {
            return .warning("Swift is not on PATH", "needed to build, not to run: https://www.swift.org/install/linux")
        }
        guard let major = Int(version.1), let minor = Int(version.2), (major, minor) >= (6, 2) else {
            return .warning("\(version.0) is on PATH", "building needs Swift 6.2 or newer")
        }
        return .ok("\(version.0)")
    }

    private func postgres() -> Finding {
        if settings.databaseURL != nil {
            return .ok("DATABASE_URL is set; no private PostgreSQL is needed")
        }
        do {
            let installation = try PostgresInstallation.find()
            return .ok("PostgreSQL \(installation.majorVersion) in \(installation.binaries)")
        } catch {
            return .failure("\(error)", "apt-get install postgresql, or set DATABASE_URL")
        }
    }

    private func executables() -> Finding {
        // Without /proc, no executable is found.
        let built = try? Executables()
        let missing = SuiteProgram.all.filter { built?.path(of: $0.name) == nil }.map(\.name)
        guard missing.isEmpty else {
            return .failure("not built: \(missing.joined(separator: ", "))", "make up builds them")
        }
        return .ok("built: \(SuiteProgram.all.map(\.name).joined(separator: ", "))")
    }

    private func diskSpace() -> Finding {
        let gigabyte = 1 << 30
        var volume = workspace.postgres
        while !FileManager.default.fileExists(atPath: volume), volume != "/" {
            volume = URL(filePath: volume).deletingLastPathComponent().path(percentEncoded: false)
        }
        var info = statvfs()
        guard statvfs(volume, &info) == 0 else {
            return .warning("the free space of \(volume) is unknown", "check it with df")
        }
        let free = Int(info.f_bavail) * Int(info.f_frsize)
        let text = "\(free / (1 << 20)) MB free for the data (\(volume))"
        switch free {
        case ..<(gigabyte / 4): return .failure(text, "free disk space: PostgreSQL stops without it")
        case ..<(2 * gigabyte): return .warning(text, "free disk space")
        default: return .ok(text)
        }
    }

    private func descriptors() -> Finding {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        // `roost up` raises the soft limit to this value.
        let text = "at most \(limit.rlim_max) open files per process (ulimit -Hn)"
        return limit.rlim_max >= 4_096
            ? .ok(text) : .warning(text, "raise it: a connection uses one file, a tunnel two in the gateway")
    }

    private func secrets() -> [Finding] {
        let path = workspace.secretsFile
        var findings: [Finding] = []
        // A missing file has no mode.
        let mode = (try? FileManager.default.attributesOfItem(atPath: path))?[.posixPermissions] as? Int
        let exists = mode != nil
        if let mode {
            findings.append(
                mode & 0o077 == 0
                    ? .ok("only its owner can read \(path)")
                    : .failure(
                        "other users can read \(path)",
                        "chmod 600 \(path), and replace the secrets if others had access"
                    )
            )
        }
        let holdsAllKeys = (settings.given["SERVICE_PUBLIC_KEYS"] ?? "").isEmpty
        let serviceKeys = (holdsAllKeys ? ServiceKeys.names : ["roost"]).map(ServiceKeys.setting)
        let encryption = SuiteProgram.all.compactMap { program in
            program.encryptionKey.map { ($0, settings.encryptionKeys(of: program)) }
        }
        for (key, value) in serviceKeys.map({ ($0, settings.secret($0)) }) + encryption {
            guard let value, !value.isEmpty else {
                findings.append(
                    exists
                        ? .failure("\(key) is not set", "restore \(path) from a backup, or set it")
                        : .ok("the first roost up creates \(key)")
                )
                continue
            }
            findings.append(
                value.utf8.count >= 32
                    ? .ok("\(key) is set")
                    : .failure("\(key) is shorter than 32 bytes", "openssl rand -base64 32")
            )
        }
        return findings
    }
}
