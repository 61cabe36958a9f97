package tutti.engine.postgres.databases;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.capture.Statement;

/** Applies each write set in its database. Used from one thread at a time; completions come from any. */
final class ServerApplier implements Applier {
    private final ServerEngine server;
    private final OfDatabases<Applier> appliers;
    private Applier current;

    ServerApplier(ServerEngine server) {
        this.server = server;
        this.appliers = new OfDatabases<>(server, server.configured(), engine -> engine.openApplier(),
                new OfDatabases.Listener<>() {
                    @Override
                    public void opened(Applier applier) {
                        server.known(applier, ServerApplier.this);
                    }

                    @Override
                    public void closes(Applier applier) {
                        server.unknown(applier);
                        applier.close();
                    }
                });
        this.current = appliers.configured();
    }

    @Override
    public void apply(long position, List<WriteSet> writes, Completion<Void> done) {
        List<WriteSet> contents = contents(writes, done);
        if (contents != null) {
            current.apply(position, contents, done);
        }
    }

    @Override
    public void applyAndCommit(long first, List<WriteSet> writes, long last, Completion<Void> done) {
        List<WriteSet> contents = contents(writes, done);
        if (contents != null) {
            current.applyAndCommit(first, contents, last, done);
        }
    }

    /**
     * Chooses the applier of their database. What is of one that has been dropped changes nothing, but has its position.
     *
     * @return null if the database is not there now, which {@code done} is told
     */
    private @Nullable List<WriteSet> contents(List<WriteSet> writes, Completion<Void> done) {
        long database = DatabaseTag.database(writes.getFirst().changes());
        Applier chosen = appliers.in(database);
        if (chosen == null) {
            EngineFailure absent = server.absent(database);
            if (absent.isTrouble()) {
                done.failed(absent);
                return null;
            }
            current = appliers.configured();
            return List.of(WriteSet.EMPTY);
        }
        current = chosen;
        return writes.stream().map(DatabaseTag::content).toList();
    }

    @Override
    public void cancel() {
        current.cancel();
    }

    @Override
    public void commit(long position, Completion<Void> done) {
        current.commit(position, done);
    }

    @Override
    public void rollback(Runnable done) {
        current.rollback(done);
    }

    @Override
    public void execute(long position, byte[] statement, Completion<ExecuteResult> done) {
        long database = DatabaseTag.database(statement);
        if (database == DatabaseTag.CONFIGURED && isChange(statement)) {
            server.changes().execute(position, Statement.of(statement), done);
            return;
        }
        Applier chosen = appliers.in(database);
        if (chosen == null) {
            EngineFailure absent = server.absent(database);
            if (absent.isTrouble()) {
                done.failed(absent);
            } else {
                done.succeeded(new ExecuteResult(absent, new byte[0]));
            }
        } else {
            current = chosen;
            chosen.execute(position, DatabaseTag.content(statement), done);
        }
    }

    private static boolean isChange(byte[] statement) {
        String place = Statement.DATABASE_PLACE;
        return new String(statement, 0, Math.min(statement.length, place.length()), StandardCharsets.UTF_8)
                .equals(place);
    }

    @Override
    public void skip(long position, EngineFailure why, Completion<ExecuteResult> done) {
        current = appliers.configured();
        current.skip(position, why, done);
    }

    @Override
    public void close() {
        appliers.close();
    }
}
