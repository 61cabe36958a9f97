package tutti.node.copy;

import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.runtime.DataFile;

/** What copies are made of at a node that gives them. Methods may be called from any thread. */
public interface CopySource {
    /**
     * What is copied, in words that are the same at both nodes: of which cluster, with which members, which engine and protocol.
     */
    String state();

    /** Whether this node leads the order, so that others had better give copies. Cheap. */
    boolean leads();

    /**
     * Begins one.
     *
     * @param receiver number of the node that it is for
     * @param directory number of that node's new order directory
     * @param done told when its files may be read; fails if there can be none now
     */
    void begin(int receiver, long directory, Completion<Copy> done);

    /** A copy that is being given. Its files are read by one thread at a time. */
    interface Copy {
        /** What is copied first; the files may change while they are read. */
        List<Entry> first();

        /**
         * What is copied last, when all of the first has been read: with it, that is a copy. Called once; blocks.
         *
         * @throws IOException if there is none
         */
        List<Entry> last() throws IOException;

        /**
         * It is over. Called once, whatever has been called before; does not block for long.
         *
         * @param complete whether the receiver has, or may have, all of it
         */
        void end(boolean complete);
    }

    /**
     * A copy of files that do not change, and that are removed by whoever has made them.
     *
     * @param first all of them
     */
    record Unchanging(List<Entry> first) implements Copy {
        @Override
        public List<Entry> last() {
            return List.of();
        }

        @Override
        public void end(boolean complete) {
            // Nothing is held.
        }
    }

    /**
     * A file or a directory.
     *
     * @param path with slashes
     * @param file null for a directory
     */
    record Entry(String path, @Nullable Opener file) {}

    /** Opens a file. */
    @FunctionalInterface
    interface Opener {
        /**
         * Opens it for reading.
         *
         * @return null if it is gone, which it may be
         */
        @Nullable
        DataFile open() throws IOException;
    }
}
