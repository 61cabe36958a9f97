package tutti.engine.postgres.apply;

import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.capture.Statement;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Frontend;

/** Statements and function calls to be sent together. */
final class Batch {
    private static final String CLEAN = "RESET ROLE; RESET ALL; CLOSE ALL; UNLISTEN *; DEALLOCATE ALL; DISCARD TEMP;"
            + " SELECT pg_catalog.pg_advisory_unlock_all()";
    private static final int CLEAN_STATEMENTS = 7;
    private static final String SET = "SELECT pg_catalog.set_config(s.name, s.value, true)"
            + " FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[]))"
            + " AS s (name, value)"
            + " WHERE (pg_catalog.current_setting(s.name, true) OPERATOR(pg_catalog.=) s.value) IS NOT TRUE";

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
    /** Of the names of statements that are prepared once and executed several times; null if each is prepared anew. */
    private final @Nullable String prefix;
    private final Map<Prepared, String> prepared = new HashMap<>();

    /** What a prepared statement is: its text, its parameters' declared types, and the settings by which it was understood. */
    private record Prepared(String sql, List<Integer> types, Map<String, String> settings) {}

    Batch(ByteBuf bytes) {
        this(bytes, null);
    }

    /**
     * Clients' statements that repeat are prepared once, and so are those that set their settings; who sends this gives them up when the transaction is
     * over.
     *
     * @param prefix with which no name of a client's begins; null to prepare each anew
     */
    Batch(ByteBuf bytes, @Nullable String prefix) {
        this.bytes = bytes;
        this.prefix = prefix;
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

    /** Leaves nothing of a client's in the session. In a query of its own: it may be a transaction of another kind than the next one. */
    void clean() {
        query(CLEAN, CLEAN_STATEMENTS);
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
            set(statement.settings());
        }
    }

    /** The same and, behind it, the role; what the session has already is not set again, as that costs more than to look. */
    void session(Statement statement) {
        Map<String, String> settings = new LinkedHashMap<>(statement.settings());
        settings.put("role", statement.role());
        set(settings);
    }

    private void set(Map<String, String> settings) {
        execute(SET, Placements.array(settings.keySet()), Placements.array(settings.values()));
    }

    /** A statement of one's own that repeats, prepared once like those of clients. */
    void execute(String sql, String... parameters) {
        Frontend.bind(bytes, "", prepare(sql, new int[0], Map.of()), parameters);
        Frontend.execute(bytes, "", 0);
        open = true;
        size++;
    }

    /** The name of a statement, which is prepared now unless it has been. */
    private String prepare(String sql, int[] types, Map<String, String> settings) {
        String before = prefix;
        if (before == null) {
            Frontend.parse(bytes, "", sql, types);
            return "";
        }
        Prepared what = new Prepared(sql, Arrays.stream(types).boxed().toList(), settings);
        String there = prepared.get(what);
        if (there != null) {
            return there;
        }
        String name = before + prepared.size();
        prepared.put(what, name);
        Frontend.parse(bytes, name, sql, types);
        return name;
    }

    /**
     * One of a client's statements.
     *
     * @param of the request, whose settings have been set
     */
    void statement(Statement.Call call, Statement of) {
        Map<String, String> settings = Map.of();
        if (prefix != null) {
            settings = new TreeMap<>(of.settings());
            settings.remove(Statement.SUBMISSION); // its meaning is not read before it is executed
        }
        Frontend.bindAgain(bytes, "", prepare(call.sql(), call.types(), settings), call.bound());
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
