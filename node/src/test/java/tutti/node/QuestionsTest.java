package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.protocol.Replica.Priority;
import tutti.core.protocol.Request;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** What nodes answer about transactions of other nodes, under every protocol: of living nodes, restarted ones, lost ones. */
@Timeout(60)
class QuestionsTest extends ReplicaTrio {
    private static <T> T told(Consumer<Completion<T>> question) throws Exception {
        CompletableFuture<T> told = new CompletableFuture<>();
        question.accept(new Completion<>() {
            @Override
            public void succeeded(T value) {
                told.complete(value);
            }

            @Override
            public void failed(EngineFailure failure) {
                told.completeExceptionally(new AssertionError(failure.toString()));
            }
        });
        return told.get(20, TimeUnit.SECONDS);
    }

    private TransactionOutcome ask(int node, TransactionId about) throws Exception {
        return told(done -> nodes.get(node).outcome(about, done));
    }

    private TransactionId reserve(int node) {
        return Objects.requireNonNull(nodes.get(node).reserve());
    }

    /** A client's transaction under a name that it knows. */
    private final class Client implements LocalTransaction {
        private final ListEngine.Session session;
        private final WriteSet writes;
        private final Transactions.Ticket ticket;
        private final boolean asks;

        Client(int node, TransactionId name, boolean asks) {
            this.asks = asks;
            session = engines.get(node).new Session(name.toString());
            long key = name.serial() * 4 + name.node();
            writes = new WriteSet(new KeySet.Builder().add(key, KeyKind.UPDATE).build(),
                    name.toString().getBytes(StandardCharsets.UTF_8));
            ReplicaNode at = nodes.get(node);
            ticket = at.begin(this, at.visiblePosition(), name);
            if (at.executesAtOnce()) {
                run(Priority.OPTIMISTIC);
            } else {
                ticket.submit(new Request.Interactive(ConflictClasses.of(List.of(key))));
            }
        }

        @Override
        public void run(Priority priority) {
            if (asks) {
                ticket.executed(writes, ReadSet.EMPTY);
            }
        }

        @Override
        public void commit(long position, Completion<Void> done) {
            session.commit(position, done);
        }

        @Override
        public void rollback(Runnable done) {
            session.rollback(done);
        }

        @Override
        public void answer(Outcome outcome) {
            session.answer(outcome);
        }

        Outcome outcome() throws Exception {
            return session.outcome.get(20, TimeUnit.SECONDS);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "dbsm", "postgres-r", "passive", "nodo", "akara", "2pc"})
    void aLivingNodeAnswersForItsTransactions(String protocol) throws Exception {
        openAll(protocol);
        TransactionId committing = reserve(0);
        TransactionId open = reserve(0);
        TransactionId unused = reserve(0);
        Outcome first = new Client(0, committing, true).outcome();
        assertInstanceOf(Outcome.Committed.class, first, first::toString);
        Client holding = new Client(0, open, false);
        for (int node : ALL) {
            assertEquals(TransactionOutcome.COMMITTED, ask(node, committing));
            assertTrue(engines.get(node).changes().contains(committing.toString()), "visible at node " + node);
        }
        assertEquals(TransactionOutcome.ABORTED, ask(1, open));
        assertInstanceOf(Outcome.Aborted.class, holding.outcome());
        assertEquals(TransactionOutcome.ABORTED, ask(2, unused));
        assertInstanceOf(Outcome.Aborted.class, new Client(0, unused, true).outcome(), "it was told to have ended");
        assertEquals(TransactionOutcome.UNKNOWN, ask(1, new TransactionId(0, 99L << 32 | 1)), "of a life to come");
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "postgres-r", "nodo", "2pc"})
    void afterARestartAbsenceIsAnAnswer(String protocol) throws Exception {
        openAll(protocol);
        TransactionId committed = reserve(0);
        TransactionId open = reserve(0);
        assertInstanceOf(Outcome.Committed.class, new Client(0, committed, true).outcome());
        new Client(0, open, false);
        // so many that there are snapshots, and the log is truncated
        for (int i = 0; i < 60; i++) {
            assertInstanceOf(Outcome.Committed.class, new Client(1, reserve(1), true).outcome());
            if (!protocol.equals("si") && i > 2) {
                break;
            }
        }
        for (int node : List.of(0, 2)) {
            nodes.get(node).close();
            open(protocol, node).ready().get(20, TimeUnit.SECONDS);
        }
        for (int node : ALL) {
            assertEquals(TransactionOutcome.COMMITTED, ask(node, committed));
            assertEquals(TransactionOutcome.ABORTED, ask(node, open));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "dbsm", "postgres-r", "2pc"})
    void aLostNodeIsFenced(String protocol) throws Exception {
        openAll(protocol);
        TransactionId committed = reserve(0);
        TransactionId open = reserve(0);
        assertInstanceOf(Outcome.Committed.class, new Client(0, committed, true).outcome());
        nodes.get(0).close();
        assertEquals(TransactionOutcome.ABORTED, ask(1, open));
        assertEquals(TransactionOutcome.COMMITTED, ask(2, committed));
        open(protocol, 0).ready().get(20, TimeUnit.SECONDS);
        TransactionId again = reserve(0);
        assertInstanceOf(Outcome.Committed.class, new Client(0, again, true).outcome(), "its new life counts");
        assertEquals(TransactionOutcome.COMMITTED, ask(2, again));
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "2pc"})
    void positionsAreWaitedFor(String protocol) throws Exception {
        openAll(protocol);
        TransactionId written = reserve(0);
        assertInstanceOf(Outcome.Committed.class, new Client(0, written, true).outcome());
        long position = nodes.get(0).visiblePosition();
        long there = told(done -> nodes.get(1).await(position, done));
        assertTrue(there >= position);
        assertTrue(engines.get(1).changes().contains(written.toString()));
        TransactionId next = reserve(0);
        assertInstanceOf(Outcome.Committed.class, new Client(0, next, true).outcome());
        assertTrue(QuestionsTest.<Long>told(done -> nodes.get(2).awaitAll(done)) > position);
        assertTrue(engines.get(2).changes().contains(next.toString()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"si"})
    void aNodeThatIsFencedBeginsAnew(String protocol) throws Exception {
        openAll(protocol);
        TransactionId name = reserve(0);
        nodes.get(1).fence(0, name.incarnation());
        assertTrue(failed.get(20, TimeUnit.SECONDS).restartable(), "and starting anew helps");
        assertEquals(TransactionOutcome.ABORTED, ask(2, name));
    }
}
