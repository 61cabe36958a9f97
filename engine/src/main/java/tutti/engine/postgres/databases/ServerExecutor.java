package tutti.engine.postgres.databases;

import java.util.List;
import tutti.core.protocol.Response;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.Executed;
import tutti.core.spi.Engine.Executor;
import tutti.core.spi.Engine.Request;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.WriteSet;

/** Executes each request in its database; requests of several are not executed together. */
final class ServerExecutor implements Executor {
    private final ServerEngine server;
    private final OfDatabases<Executor> executors;
    private Executor current;

    ServerExecutor(ServerEngine server) {
        this.server = server;
        executors = new OfDatabases<>(server, server.configured(), engine -> engine.openExecutor(),
                new OfDatabases.Listener<>() {
                    @Override
                    public void opened(Executor executor) {
                        // nobody asks for one by itself
                    }

                    @Override
                    public void closes(Executor executor) {
                        executor.close();
                    }
                });
        current = executors.configured();
    }

    @Override
    public synchronized void execute(LocalTransaction transaction, List<Request> requests, Completion<Executed> done) {
        long database = DatabaseTag.database(requests.getFirst().statement());
        Executor chosen = executors.in(database);
        if (chosen == null) {
            current = executors.configured();
            EngineFailure absent = server.absent(database);
            if (absent.isTrouble()) {
                done.failed(absent);
            } else {
                done.succeeded(
                        new Executed(WriteSet.EMPTY, new Response(absent.sqlState(), absent.message(), new byte[0])));
            }
            return;
        }
        current = chosen;
        long salt = DatabaseTag.salt(database);
        List<Request> contents = requests.stream()
                .takeWhile(each -> DatabaseTag.database(each.statement()) == database)
                .map(each -> new Request(DatabaseTag.content(each.statement()), each.classes().salted(salt))).toList();
        chosen.execute(transaction, contents, new Completion<>() {
            @Override
            public void succeeded(Executed executed) {
                done.succeeded(new Executed(DatabaseTag.tag(database, executed.writes()), executed.responses()));
            }

            @Override
            public void failed(EngineFailure failure) {
                done.failed(failure);
            }
        });
    }

    @Override
    public synchronized void commit(long position, Completion<Void> done) {
        current.commit(position, done);
    }

    @Override
    public synchronized void rollback(Runnable done) {
        current.rollback(done);
    }

    @Override
    public synchronized void close() {
        executors.close();
    }
}
