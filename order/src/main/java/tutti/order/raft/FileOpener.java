package tutti.order.raft;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;

/** How the log opens its files: {@code FileChannel::open}, or a file system that fails on purpose. */
@FunctionalInterface
interface FileOpener {
    /** As {@link FileChannel#open(Path, OpenOption...)}. */
    FileChannel open(Path path, OpenOption... options) throws IOException;
}
