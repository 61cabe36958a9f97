package tutti.engine.postgres.apply;

import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.Engine.Applier;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.pgwire.BackendConnection;

/** What an applier needs of its engine. From any thread. */
public interface ApplierServices {
    /** The functions to call, by object id. */
    CaptureInstaller.Functions functions();

    /** Their first parameter. */
    byte[] functionSecret();

    /** The tables as of the last schema change that the engine has made or was told of. */
    AppliedSchema schema();

    /** What is promised to clients' prepared transactions. */
    Promises promises();

    /** Indexes that are built beside the order. */
    IndexBuilds builds();

    /**
     * Loads the schema anew, after what has changed it at a position: whoever holds a lock that the reading waits for is named as {@link #watch} does.
     */
    CompletableFuture<Void> refreshCatalog(EventLoop loop, long position);

    /** A connection of one of the roles that have no rights. */
    CompletableFuture<BackendConnection> connectApplier(EventLoop loop, CaptureInstaller.Role role);

    /** Makes an applier known, so that one that waits for another can be told from whom; until its connection is gone. */
    void registerApplier(BackendConnection connection, Applier applier);

    /**
     * Looks after an applier until the returned task is cancelled: as long as it is busy, whoever blocks it is named again
     * and again.
     */
    ScheduledFuture<?> watch(EventLoop loop, long position, int backendPid);

    /** Looks after an applier of no position until the returned task is cancelled: says again and again for whom it waits. */
    ScheduledFuture<?> watch(EventLoop loop, Applier waiter, int backendPid);

    /** How long clients' code may run while rows are written, and a second more for each 256 KiB of them. */
    Duration rowsTime();

    /** How long a schema change or a request may take that every node executes. */
    Duration statementTime();

    /** Ends a server process, whatever it does. */
    void end(int backendPid);

    /** Makes room in the server's table of locks, or queue of notifications, if that is full, by ending the client's session that fills it. */
    void failed(EngineFailure failure);
}
