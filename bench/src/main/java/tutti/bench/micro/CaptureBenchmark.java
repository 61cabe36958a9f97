package tutti.bench.micro;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import tutti.core.txn.WriteSet;
import tutti.engine.Engines;
import tutti.engine.jdbc.CaptureMode;
import tutti.engine.jdbc.ClientSession;
import tutti.engine.jdbc.EmbeddedDatabase;
import tutti.engine.jdbc.InProcessEngine;
import tutti.engine.jdbc.JdbcEngine;
import tutti.engine.jdbc.SequenceSteps;
import tutti.engine.jdbc.SqlSyntax;

/**
 * Measures what it costs to know what a transaction has changed. Four statements of one row each (two updates, an
 * insertion, a deletion) and the write set, on a database in memory, by one client; beside the same statements on a
 * bare connection. Neither orders anything nor records a position.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class CaptureBenchmark {
    private static final int ROWS = 1000;
    /** Without capture. */
    public static final String NONE = "none";

    /** Which database. */
    @Param({"h2", "hsqldb"})
    private String engine = "";

    /** Which capture, or none. */
    @Param({NONE, "NOTES", "TRIGGERS", "STATEMENTS"})
    private String capture = "";

    private final SplittableRandom random = new SplittableRandom(42);
    private int next = ROWS;
    private @Nullable JdbcEngine opened;
    private @Nullable ClientSession session;
    private EmbeddedDatabase.@Nullable Session bare;

    /** Makes and fills the database. */
    @Setup(Level.Trial)
    public void open() throws SQLException {
        EmbeddedDatabase database = Engines.INSTALLED.find(engine, InProcessEngine.class).orElseThrow()
                .inMemory(SqlSyntax.OWN);
        try (EmbeddedDatabase.Session filling = database.openApplier();
                Statement statement = filling.connection().createStatement()) {
            statement.execute("CREATE TABLE ITEM (ID INTEGER PRIMARY KEY, NAME VARCHAR(50), AMOUNT INTEGER)");
            for (int i = 0; i < ROWS; i++) {
                statement.execute("INSERT INTO ITEM VALUES (" + i + ", 'the name of an item', 0)");
            }
            filling.commit();
        }
        JdbcEngine open = JdbcEngine.open(database,
                capture.equals(NONE) ? CaptureMode.NOTES : CaptureMode.valueOf(capture), SequenceSteps.ALL);
        opened = open;
        if (capture.equals(NONE)) {
            bare = database.openClient();
        } else {
            session = open.openSession(() -> null);
        }
    }

    /** Ends it. */
    @TearDown(Level.Trial)
    public void close() {
        if (bare != null) {
            bare.close();
        }
        if (opened != null) {
            opened.close();
        }
    }

    private void execute(String sql, Object... parameters) throws SQLException {
        ClientSession client = session;
        EmbeddedDatabase.Session direct = bare;
        if (client != null) {
            client.execute(sql, parameters);
        } else if (direct != null) {
            try (PreparedStatement statement = direct.connection().prepareStatement(sql)) {
                for (int i = 0; i < parameters.length; i++) {
                    statement.setObject(i + 1, parameters[i]);
                }
                statement.executeUpdate();
            }
        }
    }

    /** Each operation is one transaction. */
    @Benchmark
    public WriteSet transaction(CpuClock clock) throws SQLException {
        clock.operations++;
        int oldest = next - ROWS;
        execute("UPDATE ITEM SET AMOUNT = AMOUNT + ? WHERE ID = ?", 1, oldest + 1 + random.nextInt(ROWS - 1));
        execute("UPDATE ITEM SET AMOUNT = AMOUNT + ? WHERE ID = ?", 2, oldest + 1 + random.nextInt(ROWS - 1));
        execute("INSERT INTO ITEM (ID, NAME, AMOUNT) VALUES (?, ?, ?)", next, "the name of another item", 0);
        execute("DELETE FROM ITEM WHERE ID = ?", oldest);
        next++;
        ClientSession client = session;
        EmbeddedDatabase.Session direct = bare;
        WriteSet writes = WriteSet.EMPTY;
        if (client != null) {
            writes = client.capture().writes();
            client.commitUnchanged();
        } else if (direct != null) {
            direct.commit();
        }
        return writes;
    }
}
