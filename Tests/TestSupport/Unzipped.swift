import ChildProcesses
package import Foundation

/// An archive read by Python's `zipfile`, which verifies every checksum.
package struct Unzipped: Sendable {
    /// The Python script.
    ///
    /// It writes the result to a file, because `ProcessCommand` limits the output of a program.
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
        with open(sys.argv[2], "w") as report:
            json.dump(answer, report)
        """

    private struct Contents: Decodable {
        var files: [String: Data]
        var times: [String]
        var problem: String?
    }

    package let files: [String: Data]
    /// The distinct modification times.
    package let times: [String]
    /// The name of the first file with a wrong checksum, or the reason why the bytes are not an archive.
    package let problem: String?

    package init(_ bytes: some Sequence<UInt8>) async throws {
        let folder = NSTemporaryDirectory() + "unzipped-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // A temporary folder that remains does no harm.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (archive, report) = ("\(folder)/archive.zip", "\(folder)/report.json")
        try Data(bytes).write(to: URL(filePath: archive))
        let (status, output) = try await ProcessCommand(
            "python3",
            ["-c", Self.script, archive, report],
            environment: ProcessInfo.processInfo.environment
        ).run(within: .seconds(120))
        guard status.isSuccess else { throw TestSupportError("the archive cannot be read: \(output)") }
        let contents = try JSONDecoder().decode(Contents.self, from: Data(contentsOf: URL(filePath: report)))
        (files, times, problem) = (contents.files, contents.times, contents.problem)
    }
}
