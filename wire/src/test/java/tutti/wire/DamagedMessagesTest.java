package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Frontend;

/**
 * Fuzzing of the front end: what clients say, cut, damaged, repeated, in any order, before and after they have proved who they are. Whatever it is, the
 * front end meets no error of its own, lets go of what it took, and serves others. A seed is a whole conversation; those that have found something are
 * kept. {@code -Dtutti.fuzz.seconds=N} takes so long for new ones.
 */
@Tag("long")
@Timeout(900)
class DamagedMessagesTest {
    private static final Duration TIME = Duration.ofSeconds(Integer.getInteger("tutti.fuzz.seconds", 15));
    /** Conversations that have found something once. */
    private static final long[] KEPT = {75704484251956L, 75725829094525L, 76731583822350L, 77183017789305L,
            62192006158762L};
    private static final int STRANGERS_PER_CLIENT = 4;
    private static final int MESSAGES_MAX = 24;
    private static final int PATIENCE_SECONDS = 20;
    private static final Duration PATIENCE = Duration.ofSeconds(PATIENCE_SECONDS);

    private static final List<String> STATEMENTS = List.of("SELECT 1", "BEGIN", "COMMIT", "ROLLBACK", "",
            "INSERT INTO account VALUES (1, 2, 'x')", "INSERT INTO account VALUES ($1, $2, 'y') RETURNING id",
            "UPDATE account SET balance = balance + 1", "DELETE FROM account WHERE id = $1",
            "COPY account FROM STDIN", "COPY account TO STDOUT",
            "SELECT 1; INSERT INTO account VALUES (3, 3, ''); COMMIT",
            "SAVEPOINT a", "ROLLBACK TO a", "DECLARE c CURSOR FOR SELECT * FROM account", "FETCH 1 FROM c",
            "PREPARE p AS SELECT 1", "EXECUTE p", "DEALLOCATE ALL", "DISCARD ALL", "SET search_path = 'a'",
            "START TRANSACTION ISOLATION LEVEL READ COMMITTED", "COMMIT AND CHAIN", "LISTEN a", "NOTIFY a",
            "CREATE TEMPORARY TABLE t (a int)", "PREPARE TRANSACTION 'a'", "SELECT * FROM account FOR UPDATE",
            "ALTER ROLE alice PASSWORD 'wonderland'", "SET tutti.classes = 'account'", "EXPLAIN SELECT 1",
            "SELECT $1::int, '$$', $$a$$, E'\\'', \"b\"", "/* /* */ SELECT 1", "INSERT INTO plain VALUES (1)");
    private static final List<String> NAMES = List.of("", "a", "b", "tutti", "tutti_begin", "x".repeat(80));

    /** Errors that the front end has met. */
    private static final class Errors extends AppenderBase<ILoggingEvent> {
        final BlockingQueue<String> met = new LinkedBlockingQueue<>();

        @Override
        protected void append(ILoggingEvent event) {
            if (event.getLevel().isGreaterOrEqual(Level.ERROR)) {
                met.add(event.getFormattedMessage() + ": " + (event.getThrowableProxy() == null
                        ? ""
                        : event.getThrowableProxy().getClassName() + " " + event.getThrowableProxy().getMessage()));
            }
        }
    }

    private static <T> T any(SplittableRandom random, List<T> of) {
        return of.get(random.nextInt(of.size()));
    }

    private static void message(SplittableRandom random, ByteBuf out) {
        switch (random.nextInt(14)) {
            case 0, 1 -> Frontend.query(out, any(random, STATEMENTS));
            case 2, 3 -> Frontend.parse(out, any(random, NAMES), any(random, STATEMENTS), new int[random.nextInt(3)]);
            case 4, 5 -> {
                int start = Frontend.beginBind(out, any(random, NAMES), any(random, NAMES), random.nextBoolean(),
                        random.nextInt(3));
                for (int i = random.nextInt(3); i > 0; i--) {
                    Frontend.parameter(out, random.nextInt(4) == 0 ? null : "1");
                }
                Frontend.endBind(out, start, random.nextBoolean());
            }
            case 6, 7 -> Frontend.execute(out, any(random, NAMES), random.nextInt(3));
            case 8 -> Frontend.describePortal(out, any(random, NAMES));
            case 9 -> Frontend.closeStatement(out, any(random, NAMES));
            case 10 -> Frontend.sync(out);
            case 11 -> Frontend.flush(out);
            case 12 -> {
                Frontend.copyData(out, Unpooled.copiedBuffer("7\t8\tz\n", StandardCharsets.UTF_8));
                if (random.nextBoolean()) {
                    Frontend.copyDone(out);
                } else {
                    Frontend.copyFail(out, "no");
                }
            }
            default -> Frontend.functionCall(out, random.nextInt(5000), new byte[random.nextInt(9)]);
        }
    }

    /** Damages what lies behind {@code start}: bits, numbers, whole bytes, or its end. */
    private static void damage(SplittableRandom random, ByteBuf out, int start) {
        int length = out.writerIndex() - start;
        if (length == 0) {
            return;
        }
        switch (random.nextInt(4)) {
            case 0 -> {
                int at = start + random.nextInt(length);
                out.setByte(at, out.getByte(at) ^ 1 << random.nextInt(8));
            }
            case 1 -> out.setByte(start + random.nextInt(length), random.nextInt(256));
            case 2 -> out.writerIndex(start + random.nextInt(length));
            default -> {
                if (length >= Integer.BYTES) {
                    int[] numbers = {0, -1, 1, 3, 4, 5, Integer.MAX_VALUE, Integer.MIN_VALUE, 1 << 28, 65535};
                    out.setInt(start + random.nextInt(length - Integer.BYTES + 1), numbers[random.nextInt(10)]);
                }
            }
        }
    }

    private static ByteBuf conversation(SplittableRandom random) {
        ByteBuf out = Unpooled.buffer();
        int damaged = random.nextInt(3);
        for (int i = random.nextInt(MESSAGES_MAX) + 1; i > 0; i--) {
            int start = out.writerIndex();
            message(random, out);
            if (damaged > 0 && random.nextInt(6) == 0) {
                damage(random, out, start);
            }
        }
        return out;
    }

    private static void client(FrontEndFixture fixture, SplittableRandom random) throws Exception {
        BackendConnection client = fixture.client();
        client.eventLoop().submit(() -> client.takeOver(new Deaf())).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        for (int i = random.nextInt(4); i >= 0 && client.channel().isActive(); i--) {
            client.channel().writeAndFlush(conversation(random)).await(PATIENCE_SECONDS, TimeUnit.SECONDS);
        }
        if (random.nextBoolean()) {
            client.close();
        } else {
            client.abort();
        }
        client.closed().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    private static void stranger(FrontEndFixture fixture, SplittableRandom random) throws IOException {
        ByteBuf out = Unpooled.buffer();
        switch (random.nextInt(4)) {
            case 0 -> Frontend.sslRequest(out);
            case 1 -> Frontend.cancelRequest(out, random.nextInt(), new byte[random.nextInt(40)]);
            default -> Frontend.startup(out, random.nextBoolean() ? Frontend.PROTOCOL_3_0 : Frontend.PROTOCOL_3_2,
                    Map.of("user", any(random, List.of("alice", "nobody", "")), "database", "postgres"));
        }
        damage(random, out, 0);
        if (random.nextBoolean()) {
            int start = out.writerIndex();
            Frontend.saslInitialResponse(out, "SCRAM-SHA-256", "n,,n=,r=abcdef".getBytes(StandardCharsets.UTF_8));
            damage(random, out, start);
        }
        byte[] bytes = new byte[out.readableBytes()];
        out.readBytes(bytes);
        try (Socket socket = new Socket(fixture.address.getAddress(), fixture.address.getPort())) {
            socket.getOutputStream().write(bytes);
            if (random.nextBoolean()) {
                socket.shutdownOutput();
                socket.getInputStream().readNBytes(random.nextInt(20));
            }
        } catch (IOException refused) {
            assertTrue(refused.getMessage() != null, "the front end may hang up");
        }
    }

    private static void run(FrontEndFixture fixture, Errors errors, long seed) throws Exception {
        SplittableRandom random = new SplittableRandom(seed);
        for (int i = 0; i < STRANGERS_PER_CLIENT; i++) {
            stranger(fixture, random);
        }
        // what was said before may have set another one, a bit off
        fixture.admin.execute("alter role alice password 'wonderland'", PATIENCE);
        client(fixture, random);
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (fixture.frontEnd.sessions() > 0 || !fixture.frontEnd.memory().equals(FrontEnd.Memory.NONE)) {
            assertTrue(System.nanoTime() < deadline, "seed " + seed + ": the session does not end, or leaves "
                    + fixture.frontEnd.memory());
            Thread.onSpinWait();
        }
        assertEquals(List.of(), new ArrayList<>(errors.met), "seed " + seed);
        fixture.node.forget();
    }

    @Test
    void theFrontEndMeetsNoErrorOfItsOwn() throws Exception {
        Errors errors = new Errors();
        Logger root = (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
        errors.setContext(root.getLoggerContext());
        errors.start();
        root.addAppender(errors);
        try (FrontEndFixture fixture = new FrontEndFixture()) {
            for (long seed : KEPT) {
                run(fixture, errors, seed);
            }
            long end = System.nanoTime() + TIME.toNanos();
            long seed = System.nanoTime();
            int conversations = 0;
            while (System.nanoTime() < end) {
                run(fixture, errors, seed++);
                conversations++;
            }
            assertTrue(conversations > 0, "none was tried");
            BackendConnection healthy = fixture.client();
            assertEquals("TDC(SELECT 1)/I", Conversation.simple(healthy, "SELECT 1"));
            healthy.close();
        } finally {
            root.detachAppender(errors);
        }
    }
}
