package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import tutti.pgwire.Backend;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Fields;
import tutti.pgwire.Frontend;
import tutti.pgwire.ResponseHandler;

/** What a client says message by message, and what it hears in short. */
final class Conversation {
    private Conversation() {}

    /** Messages of a client. */
    interface Batch {
        void write(ByteBuf out);
    }

    /** Message types answered to a batch, errors with their SQLSTATE, and the final status. */
    private static final class Answers implements ResponseHandler {
        private final StringBuilder seen = new StringBuilder();
        /** The first CommandComplete has come. */
        final CompletableFuture<Void> executed = new CompletableFuture<>();
        final CompletableFuture<String> end = new CompletableFuture<>();

        @Override
        public void message(byte type, ByteBuf body) {
            seen.append((char) type);
            if (type == Backend.ERROR_RESPONSE) {
                seen.append('(').append(ErrorFields.read(body).sqlState()).append(')');
            } else if (type == Backend.COMMAND_COMPLETE) {
                seen.append('(').append(Fields.cString(body)).append(')');
                executed.complete(null);
            }
        }

        @Override
        public void ready(byte status) {
            end.complete(seen.append('/').append((char) status).toString());
        }

        @Override
        public void lost(Throwable cause) {
            end.completeExceptionally(cause);
        }
    }

    /** Sends messages; completes with what is answered up to the next ReadyForQuery. */
    static CompletableFuture<String> send(BackendConnection client, Batch batch) {
        return send(client, 1, batch);
    }

    /** The same up to the so-manieth ReadyForQuery. */
    static CompletableFuture<String> send(BackendConnection client, int cycles, Batch batch) {
        ByteBuf out = client.buffer();
        batch.write(out);
        Answers answers = new Answers();
        client.send(out, cycles, answers);
        return answers.end;
    }

    /** The same of a client that asks for the answers to the first messages by Flush, and sends the rest when a statement of theirs has been executed. */
    static String flushed(BackendConnection client, Batch first, Batch rest) throws Exception {
        ByteBuf out = client.buffer();
        first.write(out);
        Frontend.flush(out);
        Answers answers = new Answers();
        client.send(out, 1, answers);
        answers.executed.get(20, TimeUnit.SECONDS);
        ByteBuf more = client.buffer();
        rest.write(more);
        client.eventLoop().submit(() -> client.channel().writeAndFlush(more)).get(20, TimeUnit.SECONDS);
        return get(answers.end);
    }

    /** A simple query. */
    static String simple(BackendConnection client, String sql) throws Exception {
        return get(send(client, out -> Frontend.query(out, sql)));
    }

    /** Statements by the extended protocol, in one cycle. */
    static String extended(BackendConnection client, String... statements) throws Exception {
        return get(send(client, out -> {
            for (String sql : statements) {
                Frontend.statement(out, sql);
            }
            Frontend.sync(out);
        }));
    }

    static String get(CompletableFuture<String> answers) throws Exception {
        return answers.get(20, TimeUnit.SECONDS);
    }
}
