package tutti.macroddb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import tutti.engine.jdbc.ClientEngine;
import tutti.macro.distribution.DistributedComponentContract;
import tutti.macro.distribution.HostedComponent;
import tutti.macro.distribution.MacroNode;
import tutti.macro.distribution.MacroOperation;
import tutti.macro.distribution.MacroTransaction;
import tutti.macro.distribution.ObjectCodec;
import tutti.macro.distribution.TransactionConflictException;

/** A database keeps what the distribution promises of every component, and what a database promises. */
abstract class DatabaseComponentContract extends DistributedComponentContract {
    /** Adds to a row's number in one transaction of three statements. */
    public record Add(String key, int amount) implements MacroOperation<SqlDatabase> {
        @Override
        public Object execute(SqlDatabase database) throws SQLException {
            if (database.update("UPDATE N SET V = V + ? WHERE K = ?", amount, key) == 0) {
                database.update("INSERT INTO N (K, V) VALUES (?, ?)", key, amount);
            }
            return database.query("SELECT V FROM N WHERE K = ?", key).getFirst().getFirst();
        }
    }

    /** Looks. */
    public record Get(String key) implements MacroOperation<SqlDatabase> {
        @Override
        public @Nullable Object execute(SqlDatabase database) throws SQLException {
            List<List<@Nullable Object>> rows = database.query("SELECT V FROM N WHERE K = ?", key);
            return rows.isEmpty() ? null : rows.getFirst().getFirst();
        }

        @Override
        public boolean reads() {
            return true;
        }
    }

    private static final ObjectCodec VALUES = DatabaseComponent.values().withTypes(Add.class, Get.class);
    private final List<DatabaseComponent> databases = new ArrayList<>();

    /** A new and empty one. */
    abstract ClientEngine open() throws SQLException;

    @Override
    protected void leave() {
        super.leave();
        databases.forEach(DatabaseComponent::close);
    }

    @Override
    protected MacroNode.Builder host(MacroNode.Builder node) throws SQLException {
        DatabaseComponent database = new DatabaseComponent(open());
        databases.add(database);
        return node.values(VALUES).component(NUMBERS, HostedComponent.transactional(SqlDatabase.class, database));
    }

    @Override
    protected MacroNode.Builder elsewhere(MacroNode.Builder node) {
        return node.values(VALUES).component(NUMBERS, HostedComponent.transactionalElsewhere(SqlDatabase.class));
    }

    @Override
    protected MacroOperation<?> add(String key, int amount) {
        return new Add(key, amount);
    }

    @Override
    protected MacroOperation<?> get(String key) {
        return new Get(key);
    }

    @Override
    protected boolean copies() {
        return false;
    }

    private static SqlDatabase database(MacroNode node) {
        return node.component(NUMBERS, SqlDatabase.class);
    }

    @Override
    protected void begin(MacroNode node) throws Exception {
        database(node).define("CREATE TABLE N (K VARCHAR(20) PRIMARY KEY, V INTEGER CHECK (V >= 0))");
    }

    @Test
    void aSchemaChangeIsMadeOrRefusedAtAllNodesAlike() throws Exception {
        MacroNode one = start(1);
        MacroNode two = start(2);
        SQLException twice = assertThrows(SQLException.class,
                () -> database(two).define("CREATE TABLE N (K INTEGER PRIMARY KEY)"));
        assertEquals("42", twice.getSQLState().substring(0, 2), twice.toString());
        database(two).define("CREATE TABLE M (ID INTEGER PRIMARY KEY, D DATE)");
        database(one).update("INSERT INTO M VALUES (1, DATE '2026-11-26')");
        assertEquals(List.of(List.of(1, java.time.LocalDate.of(2026, 11, 26))), database(two).query("SELECT * FROM M"));
        try (MacroTransaction<SqlDatabase> mixed = begin(one, false)) {
            mixed.component().update("INSERT INTO M VALUES (2, NULL)");
            assertEquals("25001", assertThrows(SQLException.class,
                    () -> mixed.component().define("DROP TABLE M")).getSQLState());
        }
    }

    private static MacroTransaction<SqlDatabase> begin(MacroNode at, boolean readOnly) throws Exception {
        return at.begin(NUMBERS, SqlDatabase.class, readOnly);
    }

    @Test
    void transactionsOfSeveralNodesThatChangeOneRowLose() throws Throwable {
        MacroNode one = start(1);
        MacroNode two = start(2);
        sum(one, "n", 1);
        assertEquals(1, number(two, "n"));
        try (MacroTransaction<SqlDatabase> here = begin(one, false);
                MacroTransaction<SqlDatabase> there = begin(two, false)) {
            here.component().update("UPDATE N SET V = V + 10 WHERE K = 'n'");
            there.component().update("UPDATE N SET V = V + 100 WHERE K = 'n'");
            there.component().update("INSERT INTO N VALUES ('m', 1)");
            here.commit();
            // It stood in the way of the other one's changes, or loses when it asks.
            Throwable lost = assertThrows(Throwable.class, there::commit);
            assertEquals(true, lost instanceof TransactionConflictException
                    || (lost instanceof SQLException failed && failed.getSQLState().equals("40001")), lost.toString());
        }
        assertEquals(11, number(one, "n"));
        assertEquals(11, number(two, "n"));
        assertEquals(null, number(two, "m"));
    }

    @Test
    void aTransactionSeesTheStateAtItsBeginning() throws Throwable {
        MacroNode one = start(1);
        MacroNode two = start(2);
        sum(one, "n", 1);
        number(two, "n");
        try (MacroTransaction<SqlDatabase> reader = begin(two, true)) {
            String look = "SELECT V FROM N";
            assertEquals(List.of(List.of(1)), reader.component().query(look));
            sum(one, "n", 5);
            assertEquals(List.of(List.of(1)), reader.component().query(look));
            reader.commit();
        }
        assertEquals(6, number(two, "n"));
    }

    @Test
    void moneyIsNeitherMadeNorLost() throws Exception {
        MacroNode one = start(1);
        MacroNode two = start(2);
        for (int i = 0; i < 4; i++) {
            sum(one, "k" + i, 100);
        }
        List<CompletableFuture<Void>> running = new ArrayList<>();
        for (MacroNode node : List.of(one, two)) {
            running.add(CompletableFuture.runAsync(() -> transfer(node), task -> Thread.ofPlatform().start(task)));
        }
        for (CompletableFuture<Void> each : running) {
            each.get(50, TimeUnit.SECONDS);
        }
        String all = "SELECT K, V FROM N ORDER BY K";
        List<List<@Nullable Object>> rows = database(one).query(all);
        assertEquals(rows, database(two).query(all));
        assertEquals(400, rows.stream().mapToInt(row -> (Integer) row.get(1)).sum());
    }

    private static void transfer(MacroNode node) {
        for (int i = 0; i < 60; i++) {
            try (MacroTransaction<SqlDatabase> transaction = begin(node, false)) {
                transaction.component().update("UPDATE N SET V = V - 1 WHERE K = ?", "k" + i % 4);
                transaction.component().update("UPDATE N SET V = V + 1 WHERE K = ?", "k" + i * 7 % 3);
                transaction.commit();
            } catch (TransactionConflictException lost) {
                // Nothing was done.
            } catch (SQLException failed) {
                if (!failed.getSQLState().startsWith("40")) {
                    throw new AssertionError(failed);
                }
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }
    }
}
