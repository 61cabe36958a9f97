package tutti.engine.postgres;

import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;

/**
 * Who holds what the reading of the catalog waits for, behind a schema change at a position: the cluster's order would wait for that, so they give way as they do to an applier. The reading has the connection for
 * questions to itself and gives up now and then; so from the second time on it is asked about on another one, which lasts as long. From any thread.
 */
final class CatalogWait {
    private final EventLoopGroup loops;
    private final BackendSettings settings;
    private final LockWaits waits;
    private final EventLoop loop;
    private final long position;
    private int times;
    private boolean over;
    private @Nullable BackendConnection aside;
    private @Nullable ScheduledFuture<?> watch;

    CatalogWait(EventLoopGroup loops, BackendSettings settings, LockWaits waits, EventLoop loop, long position) {
        this.loops = loops;
        this.settings = settings;
        this.waits = waits;
        this.loop = loop;
        this.position = position;
    }

    /** This process of the server reads, for the first time or again. */
    void reads(int backendPid) {
        synchronized (this) {
            times++;
            if (times != 2) {
                return;
            }
        }
        CompletableFuture<Void> _ = BackendConnection
                .connect(loops.next(), OwnSessions.superuser(settings, "tutti watch"))
                .thenAccept(connection -> begin(connection, backendPid));
    }

    private void begin(BackendConnection connection, int backendPid) {
        synchronized (this) {
            if (!over) {
                aside = connection;
                watch = waits.watch(loop, position, backendPid, connection);
                return;
            }
        }
        connection.close();
    }

    /** It has been read. */
    void over() {
        BackendConnection connection;
        ScheduledFuture<?> asking;
        synchronized (this) {
            over = true;
            connection = aside;
            asking = watch;
        }
        if (asking != null) {
            asking.cancel(false);
        }
        if (connection != null) {
            connection.close();
        }
    }
}
