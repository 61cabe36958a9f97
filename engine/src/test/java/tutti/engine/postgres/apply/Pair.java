package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.sql.SQLException;
import java.util.List;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract.Result;
import tutti.engine.postgres.LocalSession;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.TestServer;
import tutti.engine.postgres.capture.Statement;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Fields;
import tutti.pgwire.QueryResult;

/** Two replicas with the same schema. */
final class Pair implements AutoCloseable {
    final String one;
    final String other;
    final PostgresEngine engine;
    final Applier applier;
    final LocalSession session;
    long position;

    Pair(String... schema) throws Exception {
        one = TestServer.database(schema);
        other = TestServer.database(schema);
        TestServer.install(one, 0);
        engine = PostgresEngine.open(TestServer.loops(), TestServer.reach(other), TestServer.settings(1));
        applier = engine.openApplier();
        session = new LocalSession(one);
    }

    /** Commits these statements at one replica and applies them at the other. */
    Pair transaction(String... statements) throws Exception {
        return apply(List.of(session.commit(statements)));
    }

    Pair apply(List<WriteSet> writes) throws Exception {
        Result<Void> applied = new Result<>();
        applier.applyAndCommit(position + 1, writes, position + writes.size(), applied);
        applied.success();
        position += writes.size();
        return this;
    }

    /** Ends what is prepared; the tag, or the SQLSTATE of the refusal, which takes up no position. */
    String finish(String identifier, String token, boolean commits, String role) throws Exception {
        return execute(Statement.finish(new Statement.Finish(identifier, token, commits), role));
    }

    String execute(Statement statement) throws Exception {
        Result<ExecuteResult> executed = new Result<>();
        applier.execute(position + 1, statement.toBytes(), executed);
        ExecuteResult result = executed.success();
        EngineFailure refusal = result.refusal();
        if (refusal != null) {
            return refusal.sqlState();
        }
        position++;
        ByteBuf response = Unpooled.wrappedBuffer(result.response());
        response.skipBytes(1 + Integer.BYTES);
        return Fields.cString(response);
    }

    long appliedPosition() throws Exception {
        Result<Long> applied = new Result<>();
        engine.appliedPosition(applied);
        return applied.success();
    }

    void assertEqual(String... tables) throws Exception {
        for (String table : tables) {
            String query = "SELECT t::text FROM " + table + " t ORDER BY 1";
            List<?> rows = rows(one, query);
            assertEquals(rows, rows(other, query), table);
            assertFalse(rows.isEmpty(), table);
        }
    }

    static List<?> rows(String database, String query) throws Exception {
        BackendConnection connection = TestServer.connect(database);
        QueryResult result = TestServer.execute(connection, query);
        connection.close();
        return result.rows();
    }

    @Override
    public void close() throws SQLException {
        session.close();
        applier.close();
        engine.close();
    }
}
