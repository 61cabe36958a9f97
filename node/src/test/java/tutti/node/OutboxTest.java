package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.core.spi.DurableLog;

class OutboxTest {
    private final TestMachine machine = new TestMachine();
    private final List<String> appended = new ArrayList<>();
    private boolean full = true;

    private Outbox outbox() {
        DurableLog log = (DurableLog) Proxy.newProxyInstance(DurableLog.class.getClassLoader(),
                new Class<?>[]{DurableLog.class}, (_, _, arguments) -> {
                    if (full) {
                        throw new DurableLog.OverflowException(1, 1);
                    }
                    appended.add(new String((byte[]) arguments[0], StandardCharsets.UTF_8));
                    return null;
                });
        return new Outbox(log, machine.loop("test", broken -> {
            throw new AssertionError(broken);
        }));
    }

    /** The queue may count what it has delivered until after the last time that the node is told of a delivery. */
    @Test
    void whatDidNotFitIsSentThoughNothingElseIsSentOrDelivered() {
        Outbox outbox = outbox();
        outbox.send("first".getBytes(StandardCharsets.UTF_8));
        outbox.send("second".getBytes(StandardCharsets.UTF_8));
        machine.runFor(1_000_000_000L);
        assertEquals(List.of(), appended);
        full = false;
        machine.runFor(1_000_000_000L);
        assertEquals(List.of("first", "second"), appended);
    }
}
