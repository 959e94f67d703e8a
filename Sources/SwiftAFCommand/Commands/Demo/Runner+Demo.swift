import FoundationEssentials

extension Runner {
    /// Runs the tour and prints it as it proceeds. With `--json`, its lines are collected for the report.
    func demo(_ options: Options) async -> Outcome {
        if options.printsJSON { return await collectedDemo() }
        let demo = Demo(style: Style(isColoured: console.output.isTerminal)) { line throws(WriteError) in
            try console.write(Data("\(line)\n".utf8))
        }
        do {
            return Outcome(failure: try await demo.run())
        } catch {
            return Outcome(failure: Failure(standardOutput: error))
        }
    }

    private func collectedDemo() async -> Outcome {
        var text = ""
        let demo = Demo(style: Style(isColoured: false)) { text += "\($0)\n" }
        let failure: Failure?
        do {
            failure = try await demo.run()
        } catch {
            failure = Failure(standardOutput: error)
        }
        return Outcome(.text(text), failure: failure)
    }
}
