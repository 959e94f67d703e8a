#if GTK
    import CGTKBinding
    import Glibc
    import SwiftAFGTK

    /// Mistakes that stop the program. Each is made by a process of its own: GTKTests --misuse NAME.
    @MainActor
    enum Misuse: String {
        case imageViewOfLabel
        case buttonOfLabel

        func commit() {
            let label: OpaquePointer = gtk_label_new("")
            switch self {
            case .imageViewOfLabel: _ = GTKImageView.of(label)
            case .buttonOfLabel: _ = GTKButton.of(label)
            }
        }

        /// Runs the process.
        ///
        /// - Returns: What it wrote to standard error, and whether a signal ended it.
        func outcome() throws -> (text: String, isStopped: Bool) {
            guard let program = realpath("/proc/self/exe", nil) else { throw Failure(description: "no /proc") }
            defer { free(program) }
            let command = """
                ulimit -c 0; SWIFT_BACKTRACE=enable=no exec '\(String(cString: program))' --misuse \(rawValue) 2>&1
                """
            guard let output = popen(command, "r") else { throw Failure(description: "no process") }
            var text: [UInt8] = []
            while case let byte = fgetc(output), byte != EOF { text.append(UInt8(truncatingIfNeeded: byte)) }
            // The lower bits of the status are the signal.
            return (String(decoding: text, as: UTF8.self), pclose(output) & 0x7F != 0)
        }
    }

    @MainActor let misuseTests = [
        TestCase("a widget of another kind stops the program, which names both kinds") {
            for (misuse, message) in [
                (Misuse.imageViewOfLabel, "a GTKImageView needs a GtkPicture, and this is a GtkLabel"),
                (.buttonOfLabel, "a GTKButton needs a GtkButton, and this is a GtkLabel"),
            ] {
                let (text, isStopped) = try misuse.outcome()
                Harness.expect(isStopped, "\(misuse) doesn't stop")
                Harness.expect(text.contains(message), text)
            }
        },
        TestCase("every widget has an object of the base class of all views") {
            let label: OpaquePointer = gtk_label_new("")
            g_object_ref_sink(UnsafeMutableRawPointer(label))
            Harness.expect(GTKView.of(label) === GTKView.of(label))
            Harness.expect(GTKView.of(label).widget, is: label)
            g_object_unref(UnsafeMutableRawPointer(label))
        },
    ]
#endif
