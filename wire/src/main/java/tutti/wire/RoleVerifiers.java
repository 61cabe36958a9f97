package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.Backend;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Fields;
import tutti.pgwire.Frontend;
import tutti.pgwire.PostgresException;
import tutti.pgwire.ResponseHandler;
import tutti.pgwire.Scram;
import tutti.wire.Handshake.KnownRole;

/**
 * Looks up the SCRAM verifiers of roles: asks the engine, as a superuser, over one connection that is opened when it is needed
 * and again after it was lost. Safe for use from any thread.
 */
final class RoleVerifiers {
    private static final String QUERY = "SELECT rolpassword, rolsuper FROM pg_catalog.pg_authid WHERE rolname = $1";
    private final BackendSettings settings;
    private final EventLoop loop;
    private @Nullable CompletableFuture<BackendConnection> connection;

    RoleVerifiers(BackendSettings settings, EventLoop loop) {
        this.settings = settings;
        this.loop = loop;
    }

    /** The role; null if there is none, or it has no verifier of this kind. Completed on some event loop. */
    CompletableFuture<@Nullable KnownRole> role(String role) {
        CompletableFuture<@Nullable KnownRole> result = new CompletableFuture<>();
        loop.execute(() -> ask(role, result, true));
        return result;
    }

    /** Asks, and once more if the connection turns out to be lost: somebody may have ended it since it was used last. */
    private void ask(String role, CompletableFuture<@Nullable KnownRole> result, boolean again) {
        connection().whenComplete((connected, failure) -> {
            if (connected == null) {
                connection = null;
                result.completeExceptionally(failure);
            } else {
                ask(connected, role, result, again);
            }
        });
    }

    private CompletableFuture<BackendConnection> connection() {
        CompletableFuture<BackendConnection> current = connection;
        if (current == null) {
            current = BackendConnection.connect(loop, settings);
            connection = current;
        }
        return current;
    }

    private void ask(BackendConnection connected, String role, CompletableFuture<@Nullable KnownRole> result,
            boolean again) {
        ByteBuf batch = connected.buffer();
        Frontend.statement(batch, QUERY, role);
        Frontend.sync(batch);
        connected.send(batch, new ResponseHandler() {
            private @Nullable KnownRole found;
            private @Nullable ErrorFields error;

            @Override
            public void message(byte type, ByteBuf body) {
                if (type == Backend.DATA_ROW) {
                    List<@Nullable String> row = Fields.dataRow(body);
                    Scram.Verifier verifier = Scram.Verifier.parse(row.getFirst());
                    found = verifier == null ? null : new KnownRole(verifier, "t".equals(row.get(1)));
                } else if (type == Backend.ERROR_RESPONSE) {
                    error = ErrorFields.read(body);
                }
            }

            @Override
            public void ready(byte status) {
                if (error == null) {
                    result.complete(found);
                } else {
                    result.completeExceptionally(new PostgresException(error));
                }
            }

            @Override
            public void lost(Throwable cause) {
                connection = null;
                if (again) {
                    ask(role, result, false);
                } else {
                    result.completeExceptionally(cause);
                }
            }
        });
    }

    void close() {
        loop.execute(() -> {
            CompletableFuture<BackendConnection> current = connection;
            connection = null;
            if (current != null) {
                current.thenAccept(BackendConnection::close);
            }
        });
    }
}
