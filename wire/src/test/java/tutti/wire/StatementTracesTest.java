package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.node.Transactions;
import tutti.node.trace.Span;
import tutti.node.trace.TraceContext;
import tutti.node.trace.Traces;
import tutti.node.trace.Tracer;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;

/** Which spans a session begins, and what they say. */
class StatementTracesTest {
    private static final String PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-";
    private static final TransactionId RUN = new TransactionId(0, 1L << 32 | 5);

    private final List<String> log = new ArrayList<>();
    private final Traces traces = new Traces();
    private boolean follows = true;
    private int asked;
    private long nanos;
    private final StatementTimes times = times();

    private StatementTimes times() {
        traces.by(new Tracer() {
            @Override
            public boolean on() {
                return true;
            }

            @Override
            public @Nullable Span transaction(@Nullable TraceContext parent, long agoNanos) {
                asked++;
                return (parent == null ? follows : parent.sampled())
                        ? new Logged("transaction", agoNanos, parent == null ? 0 : parent.span())
                        : null;
            }

            @Override
            public @Nullable Span delivery(TraceContext parent, long agoNanos) {
                throw new AssertionError("a session delivers nothing");
            }
        });
        Transactions node = (Transactions) Proxy.newProxyInstance(Transactions.class.getClassLoader(),
                new Class<?>[]{Transactions.class}, (_, method, _) -> switch (method.getName()) {
                    case "traces" -> traces;
                    case "reserve" -> RUN;
                    default -> null;
                });
        return new StatementTimes(node, () -> nanos);
    }

    /** Writes itself to the log when it is over. */
    private final class Logged implements Span {
        private final String name;
        private final long agoNanos;
        private final long parent;
        private final Map<String, String> said = new TreeMap<>();

        Logged(String name, long agoNanos, long parent) {
            this.name = name;
            this.agoNanos = agoNanos;
            this.parent = parent;
        }

        @Override
        public TraceContext context() {
            return new TraceContext(1, 2, 3, 1);
        }

        @Override
        public Span child(Kind kind, String of, long ago) {
            return new Logged(of, ago, 3);
        }

        @Override
        public Span with(String key, String value) {
            said.put(key, value);
            return this;
        }

        @Override
        public Span with(String key, long value) {
            return with(key, Long.toString(value));
        }

        @Override
        public Span failed(String type) {
            return with("error.type", type);
        }

        @Override
        public void end() {
            log.add(name + " " + agoNanos + " below " + Long.toHexString(parent) + " " + said);
        }
    }

    private void says(byte type, String body) {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        ByteBuf message = Unpooled.wrappedBuffer(new byte[Messages.HEADER], bytes);
        times.said(type, message, Messages.HEADER, bytes.length);
    }

    private void query(String sql, boolean inTransaction) {
        says(Frontend.QUERY, sql + "\0");
        nanos += 10;
        times.over(inTransaction);
    }

    private static String named(String flags) {
        return " /*controller='a%20b',traceparent='" + PARENT + flags + "'*/";
    }

    @Test
    void aTransactionIsAboveItsStatementsAndItsCapture() {
        query("BEGIN", true);
        query("insert into t values (17, 'x')", true);
        says(Frontend.QUERY, "COMMIT\0");
        times.trace().commits();
        nanos += 5;
        times.trace().asks(RUN, WriteSet.EMPTY);
        nanos += 5;
        assertEquals(3, traces.ordered(RUN).span(), "the node knows it by now");
        times.over(false);
        assertEquals(List.of(
                "insert 10 below 3".replace("insert", "INSERT")
                        + " {db.operation.name=INSERT, db.query.text=insert into t values (?, ?)}",
                "capture 5 below 3 {tutti.bytes=0, tutti.keys=0}",
                "COMMIT 10 below 3 {db.operation.name=COMMIT, db.query.text=COMMIT}",
                "transaction 10 below 0 {tutti.transaction=" + RUN + "}"), log);
        assertNull(traces.ordered(RUN), "the node forgets it");
    }

    @Test
    void ofATransactionThatIsNotFollowedNoSpanIsBegunAndItIsAskedOnce() {
        follows = false;
        for (int i = 0; i < 10; i++) {
            query("insert into t values (1)", true);
        }
        times.trace().commits();
        times.trace().asks(RUN, WriteSet.EMPTY);
        assertEquals(List.of(), log);
        assertEquals(1, asked);
        assertNull(traces.ordered(RUN));
        assertNull(times.trace().orders(null), "no name is reserved for it");
    }

    @Test
    void aParentThatIsRecordedHasItFollowedThoughItCameLate() {
        follows = false;
        query("select 1", true);
        query("select 2" + named("01"), true);
        query("select 3" + named("01"), false);
        assertEquals(List.of("SELECT 10 below 3 {db.operation.name=SELECT, db.query.text=select ?}",
                "SELECT 10 below 3 {db.operation.name=SELECT, db.query.text=select ?}",
                "transaction 10 below f067aa0ba902b7 {}"), log);
    }

    @Test
    void aParentThatIsNotRecordedKeepsItFromBeingFollowed() {
        query("select 1" + named("00"), false);
        assertEquals(List.of(), log);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
            "select 1 /*traceparent='{}'*/                                         | true",
            "/*traceparent='{}'*/ select 1                                         | true",
            "select 1 /*a='b',traceparent='{}',x='y'*/;                            | true",
            "select 1 /* traceparent='{}'                                          | false",
            "select 1, traceparent='{}'                                            | false",
            "select 1 /* a */, traceparent='{}' /* b */                            | false",
            "select 1 /*traceparent='00-0000000000000000000000000000000-01'*/      | false",
            "select 1 /*notraceparent='{}'*/                                       | false"})
    void aParentIsNamedInAComment(String sql, boolean named) {
        follows = false;
        query(sql.replace("{}", PARENT + "01"), false);
        assertEquals(named ? 2 : 0, log.size());
    }

    @Test
    void aParentIsFoundBehindALongStatement() {
        follows = false;
        query("select '" + "x".repeat(100_000) + "'" + named("01"), false);
        assertEquals("SELECT 10 below 3 {db.operation.name=SELECT, db.query.text=select ?}", log.getFirst());
    }

    @Test
    void theParentOfAPreparedStatementIsOfTheCycleThatPreparesIt() {
        follows = false;
        says(Frontend.PARSE, "s\0select $1, 5" + named("01") + "\0\0\0");
        says(Frontend.BIND, "\0s\0\0\0");
        times.over(false);
        assertEquals("SELECT 0 below 3 {db.operation.name=SELECT, db.query.text=select $1, ?}", log.getFirst());
        log.clear();
        says(Frontend.BIND, "\0s\0\0\0");
        times.over(false);
        assertEquals(List.of(), log);
    }

    @Test
    void severalStatementsOfACycleAreABatch() {
        says(Frontend.PARSE, "s\0insert into t values ($1)\0\0\0");
        says(Frontend.BIND, "\0s\0\0\0");
        says(Frontend.BIND, "\0s\0\0\0");
        times.over(false);
        assertEquals(
                "INSERT 0 below 3 {db.operation.batch.size=2, db.operation.name=INSERT, db.query.text=insert into t values ($1)}",
                log.getFirst());
    }

    @Test
    void anErrorIsToldByItsState() {
        says(Frontend.QUERY, "select 1/0\0");
        times.failed(ErrorFields.of("ERROR", "22012", "division by zero"));
        times.over(false);
        assertEquals(List.of(
                "SELECT 0 below 3 {db.operation.name=SELECT, db.query.text=select ?/?, db.response.status_code=22012, error.type=22012}",
                "transaction 0 below 0 {error.type=22012}"), log);
    }

    @Test
    void whatIsOrderedAsAStatementGetsANameThatTheNodeKnows() {
        says(Frontend.QUERY, "create table t (a int)\0");
        assertEquals(RUN, times.trace().orders(null));
        assertEquals(3, traces.ordered(RUN).span());
        times.over(false);
        assertNull(traces.ordered(RUN));
    }

    @Test
    void theEndOfASessionEndsWhatIsOpen() {
        query("insert into t values (1)", true);
        times.end();
        assertEquals("transaction 0 below 0 {}", log.getLast());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
            "select a, 'b' from \"T 1\" where c=-1.5e3 and d = $2 -- 99 | select a, ? from \"T 1\" where c=-? and d = $2",
            "ALTER ROLE r PASSWORD 'geheim' /* geheim */ | ALTER ROLE r PASSWORD ?",
            "do $x$ begin perform 1; end $x$ | do ?",
            "select 'unfinished | select ?",
            "select U&'d' , x'ff',b'1' | select ? , ?,?",
            "select E'a\\'b' | ``"})
    void valuesAndCommentsAreNotShown(String sql, String shown) {
        assertEquals(shown, new StatementText(sql.getBytes(StandardCharsets.UTF_8)).withoutValues());
    }
}
