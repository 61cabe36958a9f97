package tutti.order.raft;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.runtime.Background;
import tutti.runtime.DataFile;
import tutti.runtime.Directory;
import tutti.runtime.Machine;

/** A file of zeros that is prepared beside everything else, for the {@link SegmentedLog} to go on with. */
final class SpareFile {
    private static final Logger LOGGER = LoggerFactory.getLogger(SpareFile.class);
    private static final int ZEROS_BYTES = 1 << 18;

    private final Directory directory;
    private final String name;
    private final int bytes;
    private final Background work;
    /** Set by the work, and looked at when it has ended. */
    private volatile @Nullable DataFile file;

    /** Begins to prepare it, under this name. */
    SpareFile(Machine machine, Directory directory, String name, int bytes) {
        this.directory = directory;
        this.name = name;
        this.bytes = bytes;
        work = machine.background("log-spare", this::writeZeros);
    }

    private void writeZeros() throws IOException {
        DataFile begun = directory.open(name, Directory.Open.EMPTY);
        file = begun;
        ByteBuffer zeros = ByteBuffer.allocateDirect(Math.min(bytes, ZEROS_BYTES));
        for (long offset = 0; offset < bytes; offset += zeros.capacity()) {
            zeros.clear().limit((int) Math.min(zeros.capacity(), bytes - offset));
            begun.write(zeros, offset);
        }
        begun.force(true);
    }

    /** Whether it is prepared, or could not be. */
    boolean isReady() {
        return work.isDone();
    }

    /**
     * The file, once it is ready; it is the caller's from now on.
     *
     * @throws IOException if it could not be prepared
     */
    DataFile take() throws IOException {
        Exception failure = work.failure();
        DataFile prepared = file;
        if (failure != null || prepared == null) {
            close();
            throw new IOException("cannot prepare a file for the log in " + directory.location() + ": "
                    + (failure == null ? "the work was given up" : failure.getMessage()), failure);
        }
        return prepared;
    }

    /** Waits until nobody writes it, and closes it. */
    void close() {
        work.join();
        DataFile prepared = file;
        if (prepared != null) {
            try {
                prepared.close();
            } catch (IOException e) {
                LOGGER.debug("closing {}", directory.location(name), e);
            }
        }
    }
}
