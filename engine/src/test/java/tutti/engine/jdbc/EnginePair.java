package tutti.engine.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract.Result;
import tutti.engine.jdbc.rows.CapturedWrites;

/** A database that clients write to, and one that gets its write sets. */
final class EnginePair implements AutoCloseable {
    final JdbcEngine origin;
    final JdbcEngine copy;
    private final Applier atOrigin;
    private final Applier atCopy;
    private long position;

    EnginePair(JdbcEngine origin, JdbcEngine copy) {
        this.origin = origin;
        this.copy = copy;
        this.atOrigin = origin.openApplier();
        this.atCopy = copy.openApplier();
        this.position = origin.appliedPosition();
    }

    /** Two new databases in memory, with a schema. */
    static EnginePair inMemory(EngineKind kind, String... schema) throws Exception {
        return inMemory(kind, CaptureMode.NOTES, schema);
    }

    /** Likewise, with a capture. */
    static EnginePair inMemory(EngineKind kind, CaptureMode mode, String... schema) throws Exception {
        EnginePair pair = new EnginePair(JdbcEngine.open(kind.inMemory(), mode, SequenceSteps.ALL),
                JdbcEngine.open(kind.inMemory(), mode, SequenceSteps.ALL));
        for (String statement : schema) {
            pair.everywhere(statement);
        }
        return pair;
    }

    /** A schema change at both. */
    void everywhere(String sql) throws Exception {
        position++;
        for (Applier applier : List.of(atOrigin, atCopy)) {
            Result<ExecuteResult> executed = new Result<>();
            applier.execute(position, new BarrierStatement("PUBLIC", sql).toBytes(), executed);
            ExecuteResult result = executed.success();
            BarrierResponse response = BarrierResponse.of(result.response());
            assertEquals(null, response == null ? null : response.error(), sql);
        }
    }

    JdbcSession session() throws SQLException {
        return origin.openSession(() -> null);
    }

    /** Executes statements in the session's transaction. */
    static void execute(JdbcSession session, String... statements) throws SQLException {
        for (String sql : statements) {
            session.statement(connection -> {
                try (Statement statement = connection.createStatement()) {
                    return statement.execute(sql);
                }
            });
        }
    }

    /** Commits the session's transaction at the next position and applies it at the copy. */
    CapturedWrites commit(JdbcSession session) throws Exception {
        CapturedWrites captured = session.capture();
        if (captured.writes().isEmpty()) {
            session.commitUnchanged();
            return captured;
        }
        position++;
        Result<Void> committed = new Result<>();
        session.commit(position, committed);
        committed.success();
        apply(captured.writes());
        return captured;
    }

    /** A transaction of its own. */
    CapturedWrites commit(String... statements) throws Exception {
        try (JdbcSession session = session()) {
            execute(session, statements);
            return commit(session);
        }
    }

    private void apply(WriteSet writes) throws Exception {
        Result<Void> applied = new Result<>();
        atCopy.apply(position, List.of(writes), applied);
        applied.success();
        Result<Void> committed = new Result<>();
        atCopy.commit(position, committed);
        committed.success();
    }

    static List<String> rows(JdbcEngine engine, String query) throws SQLException {
        try (JdbcSession session = engine.openSession(() -> null)) {
            return session.statement(query, List.of(), connection -> {
                List<String> all = new ArrayList<>();
                try (Statement statement = connection.createStatement();
                        ResultSet rows = statement.executeQuery(query)) {
                    int columns = rows.getMetaData().getColumnCount();
                    while (rows.next()) {
                        List<String> row = new ArrayList<>();
                        for (int i = 1; i <= columns; i++) {
                            row.add(rows.getString(i));
                        }
                        all.add(String.join(",", row.stream().map(String::valueOf).toList()));
                    }
                }
                return all;
            });
        }
    }

    /** Both show these rows. */
    void assertRows(String query, String... expected) throws SQLException {
        assertEquals(List.of(expected), rows(origin, query), "where it was written");
        assertEquals(List.of(expected), rows(copy, query), "where it was applied");
    }

    @Override
    public void close() {
        origin.close();
        copy.close();
    }
}
