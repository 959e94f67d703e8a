#if GTK
    internal import CAFGTK
    public import SwiftAF
    public import SwiftAFImage

    /// A `GtkSpinner` that spins while a task runs, or while there is any network activity.
    ///
    /// ```swift
    /// GTKSpinner.of(spinner).setAnimating(with: task)
    /// GTKSpinner.of(headerSpinner).setAnimating(with: .shared)
    /// ```
    public final class GTKSpinner: GTKView, ActivityIndicating {
        public let taskBindings = TaskBindings()

        override class var type: cafgtk_type { cafgtk_spinner_type() }

        public func startAnimating() {
            if let widget { cafgtk_spinner_start(widget) }
        }

        public func stopAnimating() {
            if let widget { cafgtk_spinner_stop(widget) }
        }

        /// Spins while the manager says that network activity is visible, until a task is bound, and enables the manager.
        /// Replaces its `visibilityHandler`, and a task that the spinner showed.
        public func setAnimating(with activity: NetworkActivityIndicatorManager) {
            setAnimating(withStateOf: nil)
            let turn = taskBindings.activityTurn
            activity.visibilityHandler = { [weak self] isVisible in
                Task { @MainActor in self?.show(isVisible, of: turn) }
            }
            activity.isEnabled = true
            show(activity.isNetworkActivityIndicatorVisible, of: turn)
        }

        /// Shows the activity of a manager, unless the spinner follows something else by now.
        private func show(_ isVisible: Bool, of turn: UInt64) {
            guard taskBindings.activityTurn == turn else { return }
            taskBindings.showsActivity = isVisible
            if isVisible { startAnimating() } else { stopAnimating() }
        }

        override func cancel() {
            taskBindings.unbindAll()
        }
    }
#endif
