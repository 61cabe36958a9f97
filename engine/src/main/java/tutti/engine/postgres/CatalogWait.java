package tutti.engine.postgres;

import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;

/**
 * Who holds what the reading of the catalog waits for, behind a schema change at a position: the cluster's order would wait for that, so they give way as they do to an applier. The reading has the connection for
 * questions to itself and gives up now and then; so from the second time on it is asked about on another one, which lasts as long. From any thread.
 */
final class CatalogWait {
    private static final Logger LOG = LoggerFactory.getLogger(CatalogWait.class);

    private final EventLoopGroup loops;
    private final BackendSettings settings;
    private final LockWaits waits;
    private final EventLoop loop;
    private final long position;
    private int times;
    /** The process that is asked about, or will be; 0 if none. */
    private int asked;
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
            if (times < 2 || asked == backendPid) {
                return;
            }
            asked = backendPid;
        }
        CompletableFuture<BackendConnection> _ = BackendConnection
                .connect(loops.next(), OwnSessions.superuser(settings, "tutti watch"))
                .whenComplete((connection, failed) -> {
                    if (failed == null) {
                        begin(connection, backendPid);
                    } else {
                        LOG.warn("who holds up the reading of the catalog behind position {} cannot be asked: {}",
                                position, failed.getMessage());
                        cannotAsk(backendPid);
                    }
                });
    }

    /** It is tried again when the catalog is read again. */
    private synchronized void cannotAsk(int backendPid) {
        asked = asked == backendPid ? 0 : asked;
    }

    private void begin(BackendConnection connection, int backendPid) {
        BackendConnection useless = connection;
        synchronized (this) {
            if (!over && asked == backendPid) {
                end(watch, null);
                useless = aside;
                aside = connection;
                watch = waits.watch(loop, position, backendPid, connection);
            }
        }
        end(null, useless);
    }

    private static void end(@Nullable ScheduledFuture<?> asking, @Nullable BackendConnection connection) {
        if (asking != null) {
            asking.cancel(false);
        }
        if (connection != null) {
            connection.close();
        }
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
        end(asking, connection);
    }
}
