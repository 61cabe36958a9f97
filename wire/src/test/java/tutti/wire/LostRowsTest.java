package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import tutti.engine.postgres.catalog.KeyHash;
import tutti.engine.postgres.catalog.References;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.pgwire.Frontend;
import tutti.wire.sql.ReadPlan;
import tutti.wire.sql.TestCatalog;

/** The statement that has failed is found among those that were said, and tells the key that was lost. */
class LostRowsTest {
    private static final String UPDATE = "update account set balance = balance + $1 where id = $2";
    private static final TextSettings TEXTS = new TextSettings(Map.of("client_encoding", "UTF8"));
    private static final TableCatalog CATALOG = new TestCatalog().table("account", "1", "id int4", "balance numeric")
            .catalog();
    private static final References REFERENCES = new References(Map.of("account", new References.Named(
            Set.of(TableCatalog.tableKey("public", "account")), Set.of(), Set.of(), List.of(), List.of(), false)),
            Set.of(), false);
    private static final Capture CAPTURE = (Capture) Proxy.newProxyInstance(Capture.class.getClassLoader(),
            new Class<?>[]{Capture.class}, (_, method, arguments) -> switch (method.getName()) {
                case "reads" ->
                    ReadPlan.of((byte[]) arguments[0], (int) arguments[1], (int) arguments[2], true, CATALOG,
                            REFERENCES);
                case "schemaVersion" -> CATALOG;
                default -> throw new UnsupportedOperationException(method.toString());
            });

    private final SaidMessages said = new SaidMessages();
    private @Nullable StatementAccess prepared;
    private final LostRows rows = new LostRows(CAPTURE, TEXTS,
            (_, _, _) -> new Prepared(StatementKind.WRITE, null, null, prepared, null, null, null, null, false,
                    false));

    private static long account(String id) {
        byte[] bytes = id.getBytes(StandardCharsets.UTF_8);
        return KeyHash.finish(KeyHash.part(KeyHash.seed("key public.account_pkey"), bytes, 0, bytes.length));
    }

    private void say(Consumer<ByteBuf> messages) {
        ByteBuf out = Unpooled.buffer();
        messages.accept(out);
        while (out.isReadable()) {
            int start = out.readerIndex() + Messages.HEADER;
            int length = out.getInt(out.readerIndex() + 1) - Integer.BYTES;
            said.say(out.getByte(start - Messages.HEADER), out, start, length);
            out.readerIndex(start + length);
        }
    }

    private long[] lost(int behind) {
        return rows.of(said.executed(said.end(), behind));
    }

    @Test
    void ofSeveralThatWereSentTheOneThatFailedTells() {
        say(out -> {
            for (int id = 5; id <= 7; id++) {
                Frontend.parse(out, "", UPDATE, 0, 23);
                Frontend.bind(out, "", "", "1", Integer.toString(id));
                Frontend.execute(out, "", 0);
            }
            Frontend.sync(out);
        });
        for (int behind = 0; behind < 3; behind++) {
            assertArrayEquals(new long[]{account(Integer.toString(7 - behind))}, lost(behind));
        }
        assertNull(said.executed(said.end(), 3), "there were three");
    }

    @Test
    void aStatementThatWasPreparedBeforeIsKnownByItsName() {
        byte[] sql = UPDATE.getBytes(StandardCharsets.UTF_8);
        prepared = new StatementAccess(CAPTURE, sql, true, new int[]{0, 23});
        say(out -> {
            Frontend.bind(out, "p", "s", "1", "8");
            Frontend.bind(out, "", "s", "1", "9");
            Frontend.execute(out, "p", 0);
        });
        assertArrayEquals(new long[]{account("8")}, lost(0));
    }

    @Test
    void aQueryTellsItself() {
        say(out -> Frontend.query(out, "begin"));
        say(out -> Frontend.query(out, "update account set balance = 0 where id = 5"));
        assertArrayEquals(new long[]{account("5")}, lost(0));
        assertArrayEquals(LostRows.UNKNOWN, lost(1), "BEGIN looks for nothing");
    }

    @Test
    void whatNamesNoRowLosesItsTable() {
        say(out -> Frontend.query(out, "update account set balance = 0 where balance < 0"));
        assertArrayEquals(new long[]{TableCatalog.tableKey("public", "account")}, lost(0));
    }

    @Test
    void nothingIsKnownOfWhatIsNotThere() {
        say(out -> Frontend.execute(out, "gone", 0));
        assertArrayEquals(LostRows.UNKNOWN, lost(0));
        prepared = null;
        say(out -> {
            Frontend.bind(out, "", "s", "1", "9");
            Frontend.execute(out, "", 0);
        });
        assertArrayEquals(LostRows.UNKNOWN, lost(0));
    }
}
