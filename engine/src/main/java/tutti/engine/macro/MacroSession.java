package tutti.engine.macro;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.core.txn.WriteSet;
import tutti.engine.jdbc.ClientSession;
import tutti.engine.jdbc.JdbcSession;
import tutti.engine.jdbc.reads.Footprints;
import tutti.engine.jdbc.rows.CapturedWrites;

/** A client's session in a {@link MacroDb}: one on the primary, and one on each secondary that it has read from. */
final class MacroSession implements ClientSession {
    private final MacroDb macro;
    private final Supplier<? extends @Nullable LocalTransaction> current;
    private final JdbcSession primary;
    private final Map<Secondary, JdbcSession> readers = new HashMap<>();
    private boolean readOnly;
    private volatile WriteSet captured = WriteSet.EMPTY;
    /** Where a reading transaction is open, or null. */
    private volatile @Nullable Secondary reading;
    private volatile JdbcSession active;

    MacroSession(MacroDb macro, Supplier<? extends @Nullable LocalTransaction> current) throws SQLException {
        this.macro = macro;
        this.current = current;
        this.primary = macro.primary().openSession(current);
        this.active = primary;
    }

    @Override
    public Connection connection() {
        return primary.connection();
    }

    @Override
    public void setReadOnly(boolean only) {
        readOnly = only;
        primary.setReadOnly(only);
    }

    @Override
    public <T extends @Nullable Object> T statement(@Nullable String sql,
            List<? extends @Nullable Object> parameters, Work<T> work) throws SQLException {
        if (readOnly && reading == null && !active.open()) {
            choose();
        }
        return active.statement(sql, parameters, work);
    }

    @Override
    public void logReads() {
        primary.logReads();
    }

    /** Of the primary: what runs on a secondary changes nothing, and so is never asked. */
    @Override
    public ReadSet reads() {
        return primary.reads();
    }

    @Override
    public Footprints footprints() {
        return primary.footprints();
    }

    private void choose() throws SQLException {
        Secondary chosen = macro.enterSecondary();
        if (chosen == null) {
            active = primary;
            return;
        }
        reading = chosen;
        readers.entrySet().removeIf(reader -> {
            boolean gone = reader.getKey().closed() && !reader.getKey().equals(chosen);
            if (gone) {
                reader.getValue().close();
            }
            return gone;
        });
        try {
            JdbcSession there = readers.get(chosen);
            if (there == null) {
                there = chosen.engine().openSession(current);
                there.setReadOnly(true);
                readers.put(chosen, there);
            }
            active = there;
        } catch (SQLException failed) {
            left();
            throw failed;
        }
    }

    /** The transaction is over; the next one may run elsewhere. */
    private void left() {
        Secondary left = reading;
        active = primary;
        if (left != null) {
            reading = null;
            left.leave();
        }
    }

    /** Called when a schema change waits for a reader, from another thread. */
    void endRead(LocalTransaction holder) {
        JdbcSession reader = active;
        if (reading != null && holder.equals(current.get())) {
            reader.rollback(holder, () -> {});
        }
    }

    @Override
    public CapturedWrites capture() throws SQLException {
        CapturedWrites writes = active.capture();
        captured = writes.writes();
        return writes;
    }

    @Override
    public void commitUnchanged() throws SQLException {
        try {
            active.commitUnchanged();
        } finally {
            left();
        }
    }

    @Override
    public void commit(long position, Completion<Void> done) {
        WriteSet writes = captured;
        captured = WriteSet.EMPTY;
        macro.committing(position);
        primary.commit(position, new Completion<>() {
            @Override
            public void succeeded(Void nothing) {
                macro.committed(position, List.of(writes), done);
            }

            @Override
            public void failed(EngineFailure failure) {
                done.failed(failure);
            }
        });
    }

    @Override
    public void rollback(LocalTransaction expected, Runnable done) {
        active.rollback(expected, done);
    }

    @Override
    public void forget() {
        active.forget();
        left();
    }

    @Override
    public void awaitFree(KeySet rows, long millis) throws InterruptedException {
        primary.awaitFree(rows, millis);
    }

    @Override
    public void close() {
        primary.close();
        readers.values().forEach(JdbcSession::close);
        left();
        macro.closed(this);
    }
}
