package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.node.Transactions;

/** What sessions of another database ask of the node reaches it. */
class DatabaseTransactionsTest {
    /** Which come to others that are forwarded. */
    private static final Set<String> BY_OTHERS = Set.of("barrier 3", "begin 1", "begin 2 long");

    private static String name(Method method) {
        boolean since = Arrays.asList(method.getParameterTypes()).contains(long.class);
        return method.getName() + " " + method.getParameterCount()
                + (method.getName().equals("begin") && method.getParameterCount() == 2 && since ? " long" : "");
    }

    @Test
    void everyQuestionIsForwarded() {
        TreeSet<String> missing = Arrays.stream(Transactions.class.getDeclaredMethods())
                .filter(method -> !method.isSynthetic() && !java.lang.reflect.Modifier.isPrivate(method.getModifiers()))
                .map(DatabaseTransactionsTest::name).collect(Collectors.toCollection(TreeSet::new));
        Arrays.stream(DatabaseTransactions.class.getDeclaredMethods()).map(DatabaseTransactionsTest::name)
                .forEach(missing::remove);
        missing.removeAll(BY_OTHERS);
        assertEquals(List.of(), List.copyOf(missing));
    }

    @Test
    void whatIsBookedInOneDatabaseIsFreeInOthers() throws Exception {
        try (ScriptedNode node = new ScriptedNode()) {
            Transactions shop = new DatabaseTransactions(node, 7);
            long key = 5L << Integer.SIZE | 9;
            shop.want(key);
            assertTrue(shop.wantsAny() && shop.isWanted(key) && shop.mayBeWanted(5));
            assertFalse(node.isWanted(key) || node.mayBeWanted(5));
            assertFalse(new DatabaseTransactions(node, 8).isWanted(key));
            shop.book(key, new Completion<>() {
                @Override
                public void succeeded(Long visible) {
                    // nobody waits
                }

                @Override
                public void failed(EngineFailure failure) {
                    throw new AssertionError(failure);
                }
            });
            assertTrue(node.wanted.contains(node.booked.take().key), "under the key that is wanted");
        }
    }
}
