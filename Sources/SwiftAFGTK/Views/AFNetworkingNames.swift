#if GTK
    public import FoundationEssentials
    public import SwiftAF
    public import SwiftAFImage

    // AFNetworking's names, for those who come from it. Each calls the function of SwiftAFImage that does the work.

    extension ImageDisplaying where Self: GTKView {
        /// Shows the image at a URL.
        ///
        /// - Parameters:
        ///   - url: The image's URL; nil shows the placeholder only.
        ///   - placeholderImage: Shown during the download, and kept on failure. Nil keeps the current image.
        public func setImage(with url: String?, placeholderImage: Image? = nil) {
            setImage(from: url, placeholder: placeholderImage)
        }

        /// Shows the image at a URL; nil shows the placeholder only.
        @_disfavoredOverload
        public func setImage(with url: URL?, placeholderImage: Image? = nil) {
            setImage(from: url, placeholder: placeholderImage)
        }

        /// Shows the image of a response.
        ///
        /// - Parameters:
        ///   - request: The request for the image.
        ///   - placeholderImage: Shown during the download, and kept on failure. Nil keeps the current image.
        ///   - success: Called instead of showing the image; the closure shows it. Nil shows the image.
        ///   - failure: Called with the error; not for a cancelled or replaced request.
        public func setImage(
            with request: HTTPRequest, placeholderImage: Image? = nil, success: ImageSuccess? = nil,
            failure: ImageFailure? = nil
        ) {
            setImage(for: request, placeholder: placeholderImage, success: success, failure: failure)
        }

        /// Shows the image at a URL, no larger than it needs to be: scaled down to fit a size, with all the pixels that
        /// the widget's screen has there.
        ///
        /// - Parameters:
        ///   - url: The image's URL; nil shows the placeholder only.
        ///   - placeholderImage: Shown during the download, and kept on failure. Nil keeps the current image.
        ///   - width: In GTK's units. `Int.max` doesn't limit the width.
        ///   - height: In GTK's units. `Int.max` doesn't limit the height.
        public func setImage(
            with url: String?, placeholderImage: Image? = nil, fittingWidth width: Int, height: Int
        ) {
            setImage(
                from: url, placeholder: placeholderImage,
                processors: processors(fittingWidth: width, height: height))
        }

        /// The processors of `setImage(with:placeholderImage:fittingWidth:height:)`, to prefetch its images:
        ///
        /// ```swift
        /// downloader.prefetch(urls, processors: view.processors(fittingWidth: 64, height: 64))
        /// ```
        ///
        /// They depend on ``GTKView/scaleFactor``, which a widget knows when it is in a window.
        public func processors(fittingWidth width: Int, height: Int) -> [any ImageProcessing] {
            let scale = scaleFactor
            func pixels(_ units: Int) -> Int {
                let (product, isTooLarge) = max(1, units).multipliedReportingOverflow(by: scale)
                return isTooLarge ? .max : product
            }
            let resize = ResizeProcessor(width: pixels(width), height: pixels(height))
            return scale > 1 ? [resize, ScaleProcessor(scale: Double(scale))] : [resize]
        }

        /// Cancels the download. The current image stays, and no closure is called.
        public func cancelImageDownloadTask() {
            cancelImageDownload()
        }
    }

    extension GTKButton {
        /// Shows the image at a URL, in front, in a state.
        public func setImage(
            with url: String?, for state: ImageSlot.ControlState, placeholderImage: Image? = nil
        ) {
            setImage(from: url, placeholder: placeholderImage, in: .image(state))
        }

        /// Shows the image at a URL, in front, in a state.
        @_disfavoredOverload
        public func setImage(with url: URL?, for state: ImageSlot.ControlState, placeholderImage: Image? = nil) {
            setImage(from: url, placeholder: placeholderImage, in: .image(state))
        }

        /// Shows the image of a response, in front, in a state.
        ///
        /// - Parameters:
        ///   - request: The request for the image.
        ///   - state: The state of the button.
        ///   - placeholderImage: Shown during the download, and kept on failure. Nil keeps the current image.
        ///   - success: Called instead of showing the image; the closure shows it. Nil shows the image.
        ///   - failure: Called with the error; not for a cancelled or replaced request.
        public func setImage(
            with request: HTTPRequest, for state: ImageSlot.ControlState, placeholderImage: Image? = nil,
            success: ImageSuccess? = nil, failure: ImageFailure? = nil
        ) {
            setImage(
                for: request, placeholder: placeholderImage, in: .image(state), success: success, failure: failure)
        }

        /// Shows the image at a URL, behind the content, in a state.
        public func setBackgroundImage(
            with url: String?, for state: ImageSlot.ControlState, placeholderImage: Image? = nil
        ) {
            setImage(from: url, placeholder: placeholderImage, in: .background(state))
        }

        /// Shows the image at a URL, behind the content, in a state.
        @_disfavoredOverload
        public func setBackgroundImage(
            with url: URL?, for state: ImageSlot.ControlState, placeholderImage: Image? = nil
        ) {
            setImage(from: url, placeholder: placeholderImage, in: .background(state))
        }

        /// Shows the image of a response, behind the content, in a state; see
        /// ``setImage(with:for:placeholderImage:success:failure:)``.
        public func setBackgroundImage(
            with request: HTTPRequest, for state: ImageSlot.ControlState, placeholderImage: Image? = nil,
            success: ImageSuccess? = nil, failure: ImageFailure? = nil
        ) {
            setImage(
                for: request, placeholder: placeholderImage, in: .background(state), success: success,
                failure: failure)
        }

        /// Cancels the download of the image in front.
        public func cancelImageDownloadTask(for state: ImageSlot.ControlState) {
            cancelImageDownload(in: .image(state))
        }

        /// Cancels the download of the image behind the content.
        public func cancelBackgroundImageDownloadTask(for state: ImageSlot.ControlState) {
            cancelImageDownload(in: .background(state))
        }
    }

    extension GTKProgressBar {
        /// Shows the upload progress of a task while the total is known.
        public func setProgressWithUploadProgress(of task: SessionTask, animated: Bool) {
            setProgress(withUploadOf: task, animated: animated)
        }

        /// Shows the download progress of a task while the total is known.
        public func setProgressWithDownloadProgress(of task: SessionTask, animated: Bool) {
            setProgress(withDownloadOf: task, animated: animated)
        }
    }

    extension GTKSpinner {
        /// Spins while the task runs. Nil for no task.
        public func setAnimating(with task: SessionTask?) {
            setAnimating(withStateOf: task)
        }
    }

    extension GTKRefresh {
        /// Shows the indicator while the task runs. Nil for no task.
        public func setRefreshing(with task: SessionTask?) {
            setRefreshing(withStateOf: task)
        }
    }
#endif
