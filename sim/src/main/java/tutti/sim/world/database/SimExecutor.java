package tutti.sim.world.database;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Response;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.Engine.Executed;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.WriteSet;

/**
 * Executes clients' whole requests, statement by statement, as a client's session does, several in one transaction. What is written depends on the run, so
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

    /** Requests that are executed in one transaction. */
    private static final class Together {
        final LocalTransaction transaction;
        final List<Engine.Request> requests;
        final Completion<Executed> done;
        final List<Run> runs = new ArrayList<>();
        final List<Response> responses = new ArrayList<>();
        final List<WriteSet> writes = new ArrayList<>();

        Together(LocalTransaction transaction, List<Engine.Request> requests, Completion<Executed> done) {
            this.transaction = transaction;
            this.requests = requests;
            this.done = done;
        }

        Engine.Request next() {
            return requests.get(responses.size());
        }
    }

    @Override
    public void execute(LocalTransaction transaction, List<Engine.Request> requests, Completion<Executed> done) {
        Together all = new Together(transaction, requests, done);
        Program.Statement parsed = Program.Statement.parse(all.next().statement());
        SimTransaction begun = engine.begin(transaction, parsed.transaction(), parsed.program(), database.salt());
        running = begun;
        begun.watch();
        step(begun, all);
    }

    private void step(SimTransaction of, Together all) {
        if (of.hasNext() && !of.isLost()) {
            database.applyLater(() -> {
                if (of.equals(running)) {
                    of.perform(end -> ended(of, end, all));
                }
            });
        } else if (of.isLost()) {
            database.tellLater(() -> tell(of, () -> all.done.failed(SimEngine.GONE)));
        } else {
            finish(of, all);
        }
    }

    private void tell(SimTransaction of, Runnable what) {
        if (of.equals(running)) {
            what.run();
        }
    }

    private void ended(SimTransaction of, StatementEnd end, Together all) {
        tell(of, () -> {
            switch (end) {
                case DONE -> step(of, all);
                case FOREIGN_KEY -> {
                    Response refused = new Response("23503", end.label(), new byte[0]);
                    if (all.responses.isEmpty()) {
                        all.done.succeeded(new Executed(WriteSet.EMPTY, refused));
                    } else if (of.isOver()) {
                        execute(all.transaction, all.requests.subList(0, all.responses.size()), all.done);
                    } else {
                        all.responses.add(refused);
                        goOn(of, all);
                    }
                }
                default -> all.done.failed(new EngineFailure("40001", end.label(), true));
            }
        });
    }

    private void finish(SimTransaction of, Together all) {
        WriteSet writes = of.capture();
        all.runs.add(of.run());
        all.responses.add(Response.done(RunResponse.of(of.run().operations())));
        if (!writes.isEmpty()) {
            all.writes.add(writes);
        }
        of.keep();
        goOn(of, all);
    }

    private void goOn(SimTransaction of, Together all) {
        if (all.responses.size() < all.requests.size()) {
            Program.Statement parsed = Program.Statement.parse(all.next().statement());
            of.next(database.run(parsed.transaction(), parsed.program(), database.salt()));
            step(of, all);
            return;
        }
        all.runs.forEach(database::undertaken);
        Executed executed = new Executed(all.writes.isEmpty() ? WriteSet.EMPTY : Changes.together(all.writes),
                all.responses);
        if (all.writes.isEmpty()) {
            of.commitUnchanged(() -> tell(of, () -> all.done.succeeded(executed)));
        } else {
            database.answerLater(() -> tell(of, () -> all.done.succeeded(executed)));
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
