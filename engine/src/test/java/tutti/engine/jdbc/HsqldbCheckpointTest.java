package tutti.engine.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.PreparedStatement;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.engine.EngineContract.Result;
import tutti.engine.jdbc.hsqldb.HsqldbDatabase;
import tutti.engine.jdbc.rows.Change;

/** What HSQLDB's own checkpoint does beside appliers, which is why the engine has databases written anew itself. */
@Timeout(60)
class HsqldbCheckpointTest {
    @TempDir
    private Path directory;

    /** If this fails with another HSQLDB, it may have learned to wait for them. */
    @Test
    void anApplierThatBeginsWhileHsqldbWritesTheScriptLeavesAPositionWithoutItsRows() throws Exception {
        Path files = Files.createDirectory(directory.resolve("node")).resolve("db");
        HsqldbDatabase database = HsqldbDatabase.inFiles(files);
        CrashCopies crashes;
        try (JdbcEngine engine = JdbcEngine.open(database)) {
            try (Applier applier = engine.openApplier()) {
                Result<ExecuteResult> executed = new Result<>();
                applier.execute(1, new BarrierStatement("PUBLIC",
                        "CREATE TABLE A (ID INTEGER PRIMARY KEY, V VARCHAR(1000))").toBytes(), executed);
                executed.success();
            }
            try (EmbeddedDatabase.Session applier = database.openApplier();
                    PreparedStatement record = applier.connection().prepareStatement(JdbcEngine.RECORD);
                    EmbeddedDatabase.Session other = database.openClient();
                    Statement statement = other.connection().createStatement()) {
                for (int id = 0; id < 1_000; id++) {
                    statement.execute("INSERT INTO A VALUES (" + id + ", '" + "x".repeat(100) + "')");
                }
                other.commit();
                Runnable apply = () -> {
                    try {
                        applier.begin();
                        applier.write(new Change(Change.Operation.INSERT, engine.tables().all().stream()
                                .filter(table -> table.name().equals("A")).findFirst().orElseThrow(),
                                new Object[]{-1, "y"}));
                        record.setLong(1, 2);
                        record.executeUpdate();
                    } catch (Exception failed) {
                        throw new IllegalStateException(failed);
                    }
                };
                CrashCopies.writeThrough(database, ".script.new",
                        out -> new First(out, () -> CompletableFuture.runAsync(apply).join()));
                crashes = CrashCopies.of(database, Files.createDirectory(directory.resolve("crashes")), () -> 1);
                statement.execute("CHECKPOINT");
                applier.commit();
            }
        }
        try (JdbcEngine recovered = JdbcEngine.open(HsqldbDatabase.inFiles(crashes.all().getLast().files()))) {
            assertEquals(2, recovered.appliedPosition());
            assertEquals(List.of("1000,0"), EnginePair.rows(recovered, "SELECT COUNT(*), MIN(ID) FROM A"));
        }
    }

    /** Calls back when a part has been written: the first 16 KiB. */
    private static final class First extends FilterOutputStream {
        private final Runnable then;
        private boolean done;

        First(OutputStream out, Runnable then) {
            super(out);
            this.then = then;
        }

        @Override
        public void write(byte[] bytes, int from, int length) throws IOException {
            out.write(bytes, from, length);
            if (!done) {
                done = true;
                then.run();
            }
        }
    }
}
