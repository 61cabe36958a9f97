package tutti.wire;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.TransactionId;
import tutti.node.TransactionNames;

class LoggedEachTest {
    private static final Pattern TOLD = Pattern.compile("logged as [^\0]*|LOGGED|full");

    private final List<LoggedEach.Answers> answers = new ArrayList<>();
    private final LoggedEach each = new LoggedEach(3, TransactionNames.PLAIN, answers::add);

    private static TransactionId id(long serial) {
        return new TransactionId(1, serial);
    }

    private static String name(long serial) {
        return TransactionNames.PLAIN.of(id(serial));
    }

    private List<String> told() {
        assertEquals(1, answers.size());
        return TOLD.matcher(new String(answers.getFirst().bytes(), UTF_8)).results().map(MatchResult::group).toList();
    }

    @Test
    void allAreToldInOrderWhenTheLastIsKnown() {
        each.logged(1, id(12));
        each.logged(0, id(11));
        assertEquals(List.of(), answers);
        each.logged(2, id(13));
        assertFalse(answers.getFirst().refused());
        assertEquals(List.of("logged as " + name(11), "LOGGED", "logged as " + name(12), "LOGGED",
                "logged as " + name(13), "LOGGED"), told());
    }

    @Test
    void thoseBehindARefusalAreToldWithTheirNumbers() {
        each.logged(0, id(11));
        each.refused(1, new EngineFailure("57P03", "full", true));
        each.logged(2, id(13));
        assertTrue(answers.getFirst().refused());
        assertEquals(List.of("logged as " + name(11), "LOGGED", "logged as " + name(13) + ", statement 3 of the cycle",
                "full"), told());
    }
}
