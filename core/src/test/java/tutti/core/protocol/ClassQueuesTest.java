package tutti.core.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.txn.ConflictClasses;

/** Compared with a list in which everybody is looked at. */
class ClassQueuesTest {
    private record Waiting(long sequence, ConflictClasses classes) implements ClassQueues.Member {}

    private final ClassQueues<Waiting> queues = new ClassQueues<>();
    private final List<Waiting> all = new ArrayList<>();

    private @Nullable Waiting next(ConflictClasses classes) {
        return all.stream().filter(one -> one.classes.meet(classes))
                .min(Comparator.comparingLong(Waiting::sequence)).orElse(null);
    }

    private List<Waiting> heads(ConflictClasses classes) {
        return all.stream().filter(one -> one.classes.meet(classes) && one.equals(next(one.classes)))
                .sorted(Comparator.comparingLong(Waiting::sequence)).toList();
    }

    private static boolean admitted(Waiting one) {
        return one.sequence % 7 != 0;
    }

    private List<Waiting> run(Waiting first) {
        List<Waiting> run = new ArrayList<>(List.of(first));
        for (Waiting one : all.stream().sorted(Comparator.comparingLong(Waiting::sequence)).toList()) {
            List<Waiting> before = all.stream()
                    .filter(each -> each.sequence < one.sequence && each.classes.meet(one.classes)).toList();
            if (run.size() < 8 && !before.isEmpty() && run.containsAll(before) && admitted(one)) {
                run.add(one);
            }
        }
        return run;
    }

    private static ConflictClasses some(Random random, int classes) {
        if (random.nextInt(12) == 0) {
            return ConflictClasses.ALL;
        }
        return ConflictClasses.of(LongStream.range(0, 1 + random.nextInt(3))
                .mapToObj(_ -> (long) random.nextInt(classes)).toList());
    }

    /** Few classes, as tables are, and so many that groups come and go. */
    @ParameterizedTest
    @ValueSource(ints = {3, 8, 60})
    void firstIsWhoIsEarliestOfThoseThatMeet(int classes) {
        Random random = new Random(classes);
        for (int step = 0; step < 3000; step++) {
            if (all.size() < 5 || (all.size() < 40 && random.nextBoolean())) {
                // Places come in any order: those of a group are swapped.
                Waiting come = new Waiting(random.nextInt(1 << 30) * 3000L + step, some(random, classes));
                all.add(come);
                queues.add(come);
            } else {
                Waiting gone = all.remove(random.nextInt(all.size()));
                assertTrue(queues.remove(gone));
                assertFalse(queues.remove(gone));
            }
            ConflictClasses asked = some(random, classes);
            assertEquals(next(asked), queues.next(asked));
            assertEquals(heads(asked), queues.heads(asked));
            Waiting one = all.get(random.nextInt(all.size()));
            assertTrue(queues.contains(one));
            assertEquals(one.equals(next(one.classes)), queues.isNext(one));
            assertEquals(all.size(), queues.members().size());
            heads(ConflictClasses.ALL)
                    .forEach(first -> assertEquals(run(first), queues.run(first, 8, ClassQueuesTest::admitted)));
        }
    }
}
