package tutti.engine;

import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.WriteSet;

/**
 * Tells what transactions have changed at one server, each after it has committed, in the order in which they did. Where write sets come
 * from is the service's matter: from capture before the commit ({@link CapturedWriteSets}), or from the server's log after it. Either way
 * the same transactions are told with the same changes and keys. Safe for use from any thread.
 */
public interface WriteSetService {
    /** All that there is. */
    long ALL = 0;
    /** From what was committed last. */
    long NOW = -1;

    /**
     * Begins to read.
     *
     * @param after a position that a reader of this service has told: what was committed up to it is left out; or {@link #ALL}, or {@link #NOW}
     * @throws IOException if what was committed then is not to be had any more, or nothing can be read; says what to do
     */
    Reader read(long after) throws IOException, InterruptedException;

    /** Reads. For one thread at a time; {@link #close} from any. */
    interface Reader extends AutoCloseable {
        /**
         * What was committed next.
         *
         * @param patience how long to wait for it at most
         * @return null if nothing has come
         * @throws IOException if nothing more can be read; says what to do
         */
        @Nullable
        Committed next(Duration patience) throws IOException, InterruptedException;

        /** What was told up to this position is never asked for again, also not after a crash, and may be forgotten. */
        void confirm(long position);

        @Override
        void close();
    }

    /**
     * A transaction.
     *
     * @param position from which who has it goes on; larger than that of those before it
     * @param ordered its position in the cluster's order; 0 if it has none, since it was not committed through the node
     * @param writes what it has changed; empty if there is nothing but the position to be told
     */
    record Committed(long position, long ordered, WriteSet writes) {}
}
