package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Fields;
import tutti.pgwire.QueryCollector;
import tutti.pgwire.QueryResult;

/**
 * The engine's answer to what the node itself has asked on a session's connection, up to one Sync or simple query.
 * {@link BackendRequests} gathers it. On the session's event loop.
 */
final class BackendReply {
    /** Precedes what the closing of the capture returns, if the transaction is SERIALIZABLE. */
    static final byte SERIALIZABLE = 'z';

    private @Nullable ErrorFields error;
    private List<@Nullable String> row = List.of();
    private byte @Nullable [] changes;
    private boolean serializable;
    private boolean committed;
    private @Nullable CompletableFuture<QueryResult> result;
    private @Nullable QueryCollector collector;

    /** The error that one of the messages was answered with, or null. */
    @Nullable
    ErrorFields error() {
        return error;
    }

    /** The last row that was returned; empty if none was. */
    List<@Nullable String> row() {
        return row;
    }

    /** What the closing of the capture returned; null if nothing was changed. */
    byte @Nullable [] changes() {
        return changes;
    }

    /** Whether the transaction is SERIALIZABLE in the engine whose capture was closed. */
    boolean serializable() {
        return serializable;
    }

    /** Whether COMMIT was executed. */
    boolean committed() {
        return committed;
    }

    /** The whole result of a question whose result matters; completed, with the engine's error if it had one. */
    CompletableFuture<QueryResult> result() {
        return Objects.requireNonNull(result, "collected");
    }

    void failed(ErrorFields fields) {
        error = fields;
    }

    void row(SentMessage asked, ByteBuf body) {
        if (asked == SentMessage.OWN_ROW) {
            row = Fields.dataRow(body);
        }
    }

    void value(SentMessage asked, ByteBuf body) {
        if (asked.closes()) {
            byte[] closed = Fields.value(body);
            serializable = closed != null && closed.length > 0 && closed[0] == SERIALIZABLE;
            changes = serializable ? behindFirst(closed) : closed;
        }
    }

    private static byte @Nullable [] behindFirst(byte[] all) {
        return all.length == 1 ? null : Arrays.copyOfRange(all, 1, all.length);
    }

    /** A failed transaction's COMMIT is completed as a ROLLBACK. */
    void completed(SentMessage asked, ByteBuf tag) {
        committed |= asked.commits() && Fields.cString(tag).equals("COMMIT");
    }

    void collect(byte type, ByteBuf body) {
        QueryCollector into = collector;
        if (into == null) {
            CompletableFuture<QueryResult> gathered = new CompletableFuture<>();
            result = gathered;
            into = new QueryCollector(gathered);
            collector = into;
        }
        into.message(type, body);
    }

    void over() {
        if (collector != null) {
            collector.ready(Backend.IDLE);
        }
    }
}
