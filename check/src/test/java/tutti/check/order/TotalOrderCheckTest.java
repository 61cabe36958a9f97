package tutti.check.order;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tutti.check.CheckResult;

/** Each property of a total order, kept and broken. */
class TotalOrderCheckTest {
    private final DeliveryHistory history = new DeliveryHistory();

    @BeforeEach
    void sent() {
        history.sent(0, 10);
        history.sent(0, 11);
        history.sent(1, 20);
    }

    private void delivered(int member, long... messages) {
        for (long message : messages) {
            history.delivered(member, message);
        }
    }

    private void passes() {
        CheckResult result = TotalOrderCheck.check(history);
        assertTrue(result.passed(), result.text());
    }

    private void finds(String rule) {
        CheckResult result = TotalOrderCheck.check(history);
        assertEquals(rule, result.violations().getFirst().rule(), result.text());
    }

    @Test
    void theSameForAll() {
        delivered(0, 10, 20, 11);
        delivered(1, 10, 20, 11);
        passes();
    }

    @Test
    void validity() {
        delivered(0, 10, 20);
        delivered(1, 10, 20);
        finds("validity");
        history.crashed(0);
        passes();
    }

    @Test
    void integrity() {
        delivered(0, 10, 20, 11, 99);
        delivered(1, 10, 20, 11, 99);
        finds("uniform integrity");
    }

    @Test
    void noMessageTwice() {
        delivered(0, 10, 20, 11, 20);
        delivered(1, 10, 20, 11, 20);
        finds("uniform integrity");
    }

    @Test
    void agreementWithThoseWhoCrashed() {
        delivered(0, 10);
        delivered(1, 10, 20);
        history.crashed(1);
        history.crashed(0);
        history.joined(2, 0);
        delivered(2, 10);
        finds("uniform agreement");
        delivered(2, 20);
        passes();
    }

    @Test
    void totalOrder() {
        delivered(0, 10, 20, 11);
        delivered(1, 20, 10, 11);
        finds("uniform total order");
    }

    @Test
    void noGap() {
        delivered(0, 10, 20, 11);
        history.delivered(1, 1, 10);
        history.delivered(1, 3, 11);
        history.crashed(1);
        finds("uniform total order");
    }

    @Test
    void firstInFirstOut() {
        delivered(0, 11, 20, 10);
        delivered(1, 11, 20, 10);
        finds("first in, first out");
    }

    @Test
    void whoJoinsLaterOwesTheRest() {
        delivered(0, 10, 20, 11);
        delivered(1, 10, 20, 11);
        history.joined(2, 2);
        finds("uniform agreement");
        delivered(2, 11);
        passes();
    }

    @Test
    void messagesHaveNamesOfTheirOwn() {
        history.sent(1, 10);
        assertThrows(IllegalArgumentException.class, () -> TotalOrderCheck.check(history));
    }
}
