package tutti.engine.postgres.apply;

import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.engine.procedure.Procedures;
import tutti.pgwire.BackendConnection;

/** What an executor of clients' requests needs of its engine. From any thread. */
public interface ExecutorServices {
    /** The functions to call, by object id. */
    CaptureInstaller.Functions functions();

    /** Their first parameter. */
    byte[] functionSecret();

    /** The tables as of the last schema change that the engine has made or was told of. */
    TableCatalog catalog();

    /** Loads the schema anew. */
    CompletableFuture<Void> refreshCatalog();

    /**
     * A connection that may take this role, and otherwise has no rights; fails if the role does not exist.
     *
     * @param waiter for whom it is: whose open transaction stands in the way, since it has changed the role, is named as {@link #watch} does
     */
    CompletableFuture<BackendConnection> connectExecutor(EventLoop loop, String role, LocalTransaction waiter);

    /**
     * Makes a session known, so that whoever blocks an applier can be named.
     *
     * @param backendPid process id of its server process
     * @param current its open transaction that may be rolled back, or null; called from any thread
     * @return to be closed when the session ends
     */
    Registration registerSession(int backendPid, Supplier<? extends @Nullable LocalTransaction> current);

    /**
     * Looks after a session whose transaction has its place in the order, until the returned task is cancelled: whenever it
     * waits, whoever of this node's sessions it waits for is named.
     *
     * @param waits whether the session has a statement under way; from the loop
     */
    ScheduledFuture<?> watch(EventLoop loop, LocalTransaction waiter, int backendPid, BooleanSupplier waits);

    /** How long a request may take. */
    Duration statementTime();

    /** Ends a server process, whatever it does. */
    void end(int backendPid);

    /** As {@link ApplierServices#failed}. */
    void failed(EngineFailure failure);

    /** Whether columns that have not changed may be left out of what travels. From any thread. */
    boolean leavesOut();

    /**
     * Whether several requests come to the same in one transaction as in one each, as of the last schema change: no constraint is checked at the
     * end of a transaction, and no function of a client's changes a setting or makes what lasts until then.
     */
    boolean together();

    /** Who knows what requests may do. */
    Check check();

    /** Knows what requests may do. From any thread. */
    @FunctionalInterface
    interface Check {
        /**
         * What has been touched outside of the classes, for the client's error, or null.
         *
         * @param relations object ids of those that the request has used, if its classes are what somebody has declared; else none
         */
        @Nullable
        String outside(WriteSet writes, List<Long> relations, ConflictClasses classes);

        /** What in a statement of a Java procedure may come out differently in another run, for the client's error, or null. */
        default @Nullable String varies(String sql) {
            return null;
        }

        /** The Java procedures that are registered at this node. */
        default Procedures procedures() {
            return Procedures.NONE;
        }
    }

    /** A session's entry. */
    @FunctionalInterface
    interface Registration extends AutoCloseable {
        /** Forgets the session. */
        @Override
        void close();
    }
}
