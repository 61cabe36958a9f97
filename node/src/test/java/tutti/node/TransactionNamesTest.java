package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import tutti.core.txn.TransactionId;

/** A name tells of which cluster it is, and another cluster does not answer for it. */
class TransactionNamesTest {
    private static final TransactionId ID = TransactionId.parse("1:5.17");
    private final TransactionNames names = TransactionNames.of("26eb343a-4988-4c57-864d-abd8a9240d59");

    private static String refusal(TransactionNames names, String name) {
        return String.valueOf(
                assertThrows(IllegalArgumentException.class, () -> names.read(name)).getMessage());
    }

    @Test
    void whatIsToldIsRead() {
        assertEquals("1:5.17@26eb343a", names.of(ID));
        assertEquals(ID, names.read(names.of(ID)));
        assertEquals("1:5.17", TransactionNames.PLAIN.of(ID));
        assertEquals(ID, TransactionNames.PLAIN.read("1:5.17"));
    }

    @Test
    void aNameWithoutAClusterIsTakenForOneOfThis() {
        assertEquals(ID, names.read("1:5.17"));
    }

    @Test
    void aNameOfAnotherClusterIsRefused() {
        String why = refusal(names, TransactionNames.of("4f000000").of(ID));
        assertTrue(why.contains("of cluster 4f000000, and this is cluster 26eb343a"), why);
    }

    @Test
    void whatIsNoNameIsRefused() {
        for (String wrong : new String[]{"", "1:5", "1:5.x", "300:5.1", "1:5.17@", "@26eb343a", "1:5.17@26eb343a@"}) {
            assertTrue(!refusal(names, wrong).isEmpty(), wrong);
        }
    }
}
