package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.node.Transactions;
import tutti.node.trace.Traces;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;

/** Which statements a node hears of, and with which text. */
class StatementTimesTest {
    private final List<String> heard = new ArrayList<>();
    private long nanos;
    private final StatementTimes times = new StatementTimes(node(), () -> nanos);

    private Transactions node() {
        return (Transactions) Proxy.newProxyInstance(Transactions.class.getClassLoader(),
                new Class<?>[]{Transactions.class},
                (_, method, arguments) -> {
                    if (method.getName().equals("traces")) {
                        return Traces.OFF;
                    }
                    heard.add(method.getName() + List.of(arguments));
                    return null;
                });
    }

    private void says(byte type, String body) {
        ByteBuf message = Unpooled.copiedBuffer("?????" + body, StandardCharsets.UTF_8);
        times.said(type, message, Messages.HEADER, body.length());
    }

    private void takes(long millis) {
        nanos += millis * 1_000_000;
        times.over(false);
    }

    @Test
    void onlySlowStatementsAreTold() {
        says(Frontend.QUERY, "select 1\0");
        takes(19);
        says(Frontend.QUERY, "select 2\0");
        takes(20);
        takes(1000);
        assertEquals(List.of("slow[20000000, select 2]"), heard);
    }

    @Test
    void aPreparedStatementIsToldByItsText() {
        says(Frontend.PARSE, "s1\0update t set a = $1\0\0\0");
        says(Frontend.SYNC, "");
        takes(0);
        says(Frontend.PARSE, "\0select 1\0\0\0");
        says(Frontend.BIND, "portal\0s1\0\0\0");
        takes(30);
        says(Frontend.BIND, "\0unknown\0");
        takes(30);
        assertEquals(List.of("slow[30000000, update t set a = $1]"), heard);
    }

    @Test
    void passwordsAreNotToldAndLongTextsAreCut() {
        says(Frontend.QUERY, "alter role r PASSWORD 'secret'\0");
        takes(30);
        says(Frontend.QUERY, "x".repeat(1000) + "\0");
        takes(30);
        assertEquals(
                List.of("slow[30000000, (a statement about a password)]", "slow[30000000, " + "x".repeat(200) + "]"),
                heard);
    }

    /** What has no end is others' to complain of. */
    @Test
    void aBrokenMessageDoesNoHarm() {
        says(Frontend.PARSE, "no end");
        says(Frontend.BIND, "no end");
        says(Frontend.QUERY, "");
        takes(30);
        assertEquals(List.of(), heard);
    }

    @Test
    void lossesAreToldWithTheStatement() {
        says(Frontend.QUERY, "commit\0");
        times.failed(ErrorFields.of("ERROR", "23505", "duplicate"));
        times.lost(ErrorFields.of("ERROR", "40001", "lost").with('D', "Lost table t, key (id) = (1)"), true);
        times.failed(ErrorFields.of("ERROR", "40P01", "deadlock"));
        assertEquals(List.of(
                "lost[Loss[sqlState=40001, message=lost, detail=Lost table t, key (id) = (1), statement=commit, repeated=true]]",
                "lost[Loss[sqlState=40P01, message=deadlock, detail=, statement=commit, repeated=false]]"), heard);
    }
}
