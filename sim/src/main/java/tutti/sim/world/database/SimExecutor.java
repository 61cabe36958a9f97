package tutti.sim.world.database;

import java.util.Objects;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Response;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.Engine.Executed;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.WriteSet;

/**
 * Executes clients' whole requests, statement by statement, as a client's session does. What is written depends on the run, so
 * that two runs of the same request do not come to the same.
 */
final class SimExecutor implements Engine.Executor {
    private final SimEngine engine;
    private final Database database;
    private @Nullable SimTransaction running;

    SimExecutor(SimEngine engine) {
        this.engine = engine;
        this.database = engine.database();
    }

    @Override
    public void execute(LocalTransaction transaction, byte[] request, ConflictClasses classes,
            Completion<Executed> done) {
        Program.Statement parsed = Program.Statement.parse(request);
        SimTransaction begun = engine.begin(transaction, parsed.transaction(), parsed.program(), database.salt());
        running = begun;
        begun.watch();
        step(begun, done);
    }

    private void step(SimTransaction of, Completion<Executed> done) {
        if (of.hasNext() && !of.isLost()) {
            database.applyLater(() -> {
                if (of.equals(running)) {
                    of.perform(end -> ended(of, end, done));
                }
            });
        } else if (of.isLost()) {
            database.tellLater(() -> tell(of, () -> done.failed(SimEngine.GONE)));
        } else {
            finish(of, done);
        }
    }

    private void tell(SimTransaction of, Runnable what) {
        if (of.equals(running)) {
            what.run();
        }
    }

    private void ended(SimTransaction of, StatementEnd end, Completion<Executed> done) {
        tell(of, () -> {
            switch (end) {
                case DONE -> step(of, done);
                case FOREIGN_KEY -> done.succeeded(new Executed(WriteSet.EMPTY,
                        new Response("23503", end.label(), new byte[0])));
                default -> done.failed(new EngineFailure("40001", end.label(), true));
            }
        });
    }

    private void finish(SimTransaction of, Completion<Executed> done) {
        WriteSet writes = of.capture();
        database.undertaken(of.run());
        Executed executed = new Executed(writes, Response.done(RunResponse.of(of.run().operations())));
        if (writes.isEmpty()) {
            of.commitUnchanged(() -> tell(of, () -> done.succeeded(executed)));
        } else {
            database.answerLater(() -> tell(of, () -> done.succeeded(executed)));
        }
    }

    @Override
    public void commit(long position, Completion<Void> done) {
        Objects.requireNonNull(running, "it has executed").commit(position, done);
    }

    @Override
    public void rollback(Runnable done) {
        SimTransaction present = running;
        running = null;
        if (present == null) {
            database.tellLater(done);
        } else {
            present.rollback(done);
        }
    }

    /** What it has open the engine ends. */
    @Override
    public void close() {
        running = null;
    }
}
