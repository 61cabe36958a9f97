package tutti.server;

import org.jspecify.annotations.Nullable;
import tutti.server.config.NodeConfig;

/** Puts one node together and runs it: what {@code tutti node} needs of the rest of the system. */
public interface NodeRuntime {
    /**
     * Starts a node: its database, its part in the order, its front end and its admin HTTP. Returns as soon as the admin
     * HTTP answers; whether the node is ready is asked there.
     *
     * @throws Exception if it cannot start; the message says what to do
     */
    RunningNode start(NodeConfig config) throws Exception;

    /** A node that has been started. */
    interface RunningNode extends AutoCloseable {
        /**
         * Waits until the node has ended, by {@link #close} or on its own.
         *
         * @return null if it was closed, or why it ended
         */
        @Nullable
        Throwable awaitExit() throws InterruptedException;

        /** Lets clients finish within the configured grace, then stops everything that {@code start} started. */
        @Override
        void close();
    }
}
