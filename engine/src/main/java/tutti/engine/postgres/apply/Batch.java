package tutti.engine.postgres.apply;

import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.capture.Statement;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Frontend;

/** Statements and function calls to be sent together. */
final class Batch {
    private final ByteBuf bytes;
    /** Statements and calls. */
    private int size;
    private int answers;
    /** Statements have been appended that no Sync follows yet. After an error in them the server skips all up to it. */
    private boolean open;
    private final BitSet responses = new BitSet();
    /** The last places of those whose responses are kept together. */
    private final List<Integer> ends = new ArrayList<>();
    private int resultPlace = -1;

    Batch(ByteBuf bytes) {
        this.bytes = bytes;
    }

    /** A position as a parameter. */
    static byte[] bytes(long position) {
        return ByteBuffer.allocate(Long.BYTES).putLong(position).array();
    }

    /** A statement, without a name. */
    int plain(String sql, String... parameters) {
        Frontend.statement(bytes, sql, parameters);
        open = true;
        return size++;
    }

    /** Statements in one simple query. */
    void query(String sql, int statements) {
        sync();
        Frontend.query(bytes, sql);
        answers++;
        size += statements;
    }

    /** Calls a function whose first parameter is the secret. */
    int call(int function, byte[] secret, byte @Nullable []... more) {
        byte @Nullable [][] parameters = new byte[more.length + 1][];
        parameters[0] = secret;
        System.arraycopy(more, 0, parameters, 1, more.length);
        sync();
        Frontend.functionCall(bytes, function, parameters);
        answers++;
        return size++;
    }

    /** What a statement's meaning depends on, until the transaction's end. */
    void settings(Statement statement) {
        if (!statement.settings().isEmpty()) {
            List<String> settings = new ArrayList<>();
            StringBuilder set = new StringBuilder("SELECT ");
            statement.settings().forEach((name, value) -> {
                set.append(settings.isEmpty() ? "" : ", ").append("pg_catalog.set_config($")
                        .append(settings.size() + 1).append(", $").append(settings.size() + 2).append(", true)");
                settings.add(name);
                settings.add(value);
            });
            plain(set.toString(), settings.toArray(String[]::new));
        }
    }

    /** One of a client's statements. */
    void statement(Statement.Call call) {
        Frontend.parse(bytes, "", call.sql(), call.types());
        Frontend.bindAgain(bytes, "", "", call.bound());
        if (call.described()) {
            Frontend.describePortal(bytes, "");
        }
        Frontend.execute(bytes, "", call.rowsMax());
        open = true;
        size++;
    }

    int size() {
        return size;
    }

    /** What the statements at these places are answered is kept, together; may be asked for several times, in order. */
    void keepResponses(int first, int last) {
        responses.set(first, last + 1);
        ends.add(last);
    }

    /** What the function at this place returns is kept. */
    void keepResult(int place) {
        resultPlace = place;
    }

    private void sync() {
        if (open) {
            Frontend.sync(bytes);
            answers++;
            open = false;
        }
    }

    void send(BackendConnection server, BatchHandler.Listener listener) {
        sync();
        BatchHandler handler = new BatchHandler(size, responses, ends, resultPlace, listener);
        if (answers == 0) {
            bytes.release(); // nothing is to be done: the server would not answer
            listener.done(handler);
        } else {
            server.send(bytes, answers, handler);
        }
    }

    void release() {
        bytes.release();
    }
}
