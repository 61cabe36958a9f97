package tutti.server;

import java.io.IOException;
import org.jspecify.annotations.Nullable;
import tutti.server.config.NodeConfig;

/** Puts one node together and runs it: what {@code tutti node} needs of the rest of the system. */
public interface NodeRuntime {
    /**
     * Starts a node: its database, its part in the order, its front end and its admin HTTP. Returns as soon as the admin
     * HTTP answers; whether the node is ready is asked there.
     *
     * @param file read when somebody asks for that while the node runs
     * @throws Exception if it cannot start; the message says what to do
     */
    RunningNode start(NodeConfig config, Reading file) throws Exception;

    /** Likewise, of one whose configuration is not in a file and stays as it is. */
    default RunningNode start(NodeConfig config) throws Exception {
        return start(config, () -> config);
    }

    /** The file that a node's configuration was read from. */
    @FunctionalInterface
    interface Reading {
        /**
         * What it says now.
         *
         * @throws IOException if it cannot be used, with everything that is wrong with it
         */
        NodeConfig read() throws IOException;
    }

    /** A node that has been started. */
    interface RunningNode extends AutoCloseable {
        /**
         * Waits until the node has ended, by {@link #close} or on its own.
         *
         * @return null if it was closed, or why it ended
         */
        @Nullable
        Throwable awaitExit() throws InterruptedException;

        /**
         * Reads its configuration again.
         *
         * @return which changes count now, and which when it is started again
         * @throws IOException if the file cannot be used; then it goes on as before
         */
        String reload() throws IOException;

        /** Lets clients finish within the configured grace, then stops everything that {@code start} started. */
        @Override
        void close();
    }
}
