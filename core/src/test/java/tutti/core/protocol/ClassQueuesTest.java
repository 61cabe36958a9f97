package tutti.core.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
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

    /** Whether all before it are among these; it has somebody before it. */
    private boolean isBehind(Waiting one, List<Waiting> run) {
        List<Waiting> before = all.stream()
                .filter(each -> each.sequence < one.sequence && each.classes.meet(one.classes)).toList();
        return !before.isEmpty() && run.containsAll(before);
    }

    /** By asking for each time who is the earliest of those that can be next. */
    private List<Waiting> run(Iterator<Waiting> firsts, int enough, int max) {
        List<Waiting> run = new ArrayList<>();
        while (run.isEmpty() || (run.size() < enough && firsts.hasNext())) {
            run.add(firsts.next());
            for (Waiting next = behind(run); next != null && run.size() < max; next = behind(run)) {
                run.add(next);
            }
        }
        return run;
    }

    private @Nullable Waiting behind(List<Waiting> run) {
        return all.stream().filter(one -> !run.contains(one) && admitted(one) && isBehind(one, run))
                .min(Comparator.comparingLong(Waiting::sequence)).orElse(null);
    }

    private void comparesRuns() {
        List<Waiting> firsts = heads(ConflictClasses.ALL);
        for (int from = 0; from < firsts.size(); from++) {
            List<Waiting> of = firsts.subList(from, firsts.size());
            int enough = 1 + from * 4 % 8;
            Iterator<Waiting> others = of.subList(1, of.size()).iterator();
            assertEquals(run(of.iterator(), enough, 8), queues.run(of.getFirst(), enough, 8,
                    ClassQueuesTest::admitted, () -> others.hasNext() ? others.next() : null));
        }
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
            comparesRuns();
        }
    }
}
