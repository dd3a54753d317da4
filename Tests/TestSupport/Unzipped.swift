import ChildProcesses
package import Foundation

/// An archive as Python's `zipfile` reads it, which checks every checksum.
package struct Unzipped: Sendable {
    /// It says what it has read in a file of its own, which may be longer than what is kept of a program's output.
    private static let script = """
        import base64, json, sys, zipfile
        try:
            archive = zipfile.ZipFile(sys.argv[1])
            bad = archive.testzip()
            files = {i.filename: base64.b64encode(archive.read(i)).decode() for i in archive.infolist()}
            times = sorted({"%04d-%02d-%02d %02d:%02d:%02d" % i.date_time for i in archive.infolist()})
            answer = {"files": files, "times": times, "problem": bad}
        except zipfile.BadZipFile as error:
            answer = {"files": {}, "times": [], "problem": "BadZipFile: %s" % error}
        with open(sys.argv[2], "w") as said:
            json.dump(answer, said)
        """

    private struct Contents: Decodable {
        var files: [String: Data]
        var times: [String]
        var problem: String?
    }

    /// What is in each, by its name.
    package let files: [String: Data]
    /// The times that there are, each once.
    package let times: [String]
    /// What keeps it from being whole: the file whose checksum is wrong, or why it is no archive.
    package let problem: String?

    package init(_ bytes: some Sequence<UInt8>) async throws {
        let folder = NSTemporaryDirectory() + "unzipped-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // Silence: it is a temporary folder.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (archive, said) = ("\(folder)/archive.zip", "\(folder)/said.json")
        try Data(bytes).write(to: URL(filePath: archive))
        let (status, output) = try await ProcessCommand(
            "python3",
            ["-c", Self.script, archive, said],
            environment: ProcessInfo.processInfo.environment
        ).run(within: .seconds(120))
        guard status.isSuccess else { throw TestSupportError("the archive cannot be read: \(output)") }
        let contents = try JSONDecoder().decode(Contents.self, from: Data(contentsOf: URL(filePath: said)))
        (files, times, problem) = (contents.files, contents.times, contents.problem)
    }
}
