package tutti.grid.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class ViewAgreementTest {
    private static final int SEEDS = 3000;

    /** Nodes whose messages are lost, doubled and overtake each other, some of which crash, all of which may be suspected. */
    private static final class Run {
        private record Sent(int from, int to, ViewMessage message) {}

        private final Random random;
        private final List<ViewAgreement> nodes = new ArrayList<>();
        private final Set<Integer> crashed = new TreeSet<>();
        private final List<Sent> network = new ArrayList<>();
        private final Map<Long, View> views = new HashMap<>();

        Run(long seed) {
            random = new Random(seed);
            Set<Integer> all = new TreeSet<>();
            int count = 2 + random.nextInt(5);
            for (int i = 0; i < count; i++) {
                all.add(i);
            }
            for (int i = 0; i < count; i++) {
                int self = i;
                nodes.add(new ViewAgreement(i, new View(0, all), 4, (to, message) -> network.add(new Sent(self, to,
                        message)), this::installed));
            }
        }

        private void installed(View view) {
            View before = views.putIfAbsent(view.number(), view);
            assertEquals(before == null ? view : before, view, "two views of one number");
        }

        void deliverOne(double loss) {
            Sent sent = network.get(random.nextInt(network.size()));
            if (random.nextInt(10) > 0) {
                network.remove(sent);
            }
            if (!crashed.contains(sent.to) && random.nextDouble() >= loss) {
                nodes.get(sent.to).received(sent.from, sent.message);
            }
        }

        void trouble() {
            for (int step = 0; step < 300; step++) {
                ViewAgreement node = nodes.get(random.nextInt(nodes.size()));
                switch (random.nextInt(12)) {
                    case 0 -> node.suspect(random.nextInt(nodes.size()), true);
                    case 1 -> node.suspect(random.nextInt(nodes.size()), false);
                    case 2, 3 -> node.tick();
                    case 4 -> crashMaybe();
                    default -> {
                        if (!network.isEmpty()) {
                            deliverOne(0.1);
                        }
                    }
                }
            }
        }

        /** Fewer than half of the newest view, and of every view that is still in use. */
        private void crashMaybe() {
            int node = random.nextInt(nodes.size());
            Set<Integer> left = new TreeSet<>();
            for (int i = 0; i < nodes.size(); i++) {
                if (i != node && !crashed.contains(i)) {
                    left.add(i);
                }
            }
            boolean quorums = nodes.stream().allMatch(one -> one.view().isQuorum(left));
            if (quorums && random.nextInt(20) == 0) {
                crashed.add(node);
            }
        }

        /** From now on suspicions are right and messages arrive. */
        void calm() {
            for (int round = 0; round < 50; round++) {
                for (int i = 0; i < nodes.size(); i++) {
                    if (!crashed.contains(i)) {
                        for (int other = 0; other < nodes.size(); other++) {
                            nodes.get(i).suspect(other, crashed.contains(other));
                        }
                        nodes.get(i).tick();
                        // As heartbeats do.
                        for (int other = 0; other < nodes.size(); other++) {
                            if (nodes.get(other).view().number() > nodes.get(i).view().number()
                                    && !crashed.contains(other)) {
                                nodes.get(other).tell(i);
                            }
                        }
                    }
                }
                while (!network.isEmpty()) {
                    deliverOne(0);
                }
            }
        }
    }

    @Test
    void nodesAgreeOnEveryViewAndCrashedOnesAreLeftOutInTheEnd() {
        int views = 0;
        int crashes = 0;
        int stuck = 0;
        for (long seed = 1; seed <= SEEDS; seed++) {
            Run run = new Run(seed);
            run.trouble();
            run.calm();
            View last = run.nodes.stream().map(ViewAgreement::view).max((a, b) -> Long.compare(a.number(), b.number()))
                    .orElseThrow();
            views += run.views.size();
            crashes += run.crashed.size();
            Set<Integer> left = new TreeSet<>(last.members());
            left.removeAll(run.crashed);
            if (!last.isQuorum(left)) {
                // Decided when one of its members had crashed already; another wrongly suspected one is not in it.
                stuck++;
                continue;
            }
            for (int node : last.members()) {
                assertTrue(!run.crashed.contains(node), "seed " + seed + ": " + last + ", crashed " + run.crashed);
                assertEquals(last, run.nodes.get(node).view(), "seed " + seed);
            }
        }
        assertTrue(views > SEEDS && crashes > SEEDS / 4 && stuck < SEEDS / 20,
                stuck + " stuck, " + views + " views, " + crashes + " crashes");
    }

    /** One after the other in time: ticks, and messages that take as long as this. */
    private static View viewAfter(int millis, int messageMillis) {
        TreeMap<Integer, List<Runnable>> events = new TreeMap<>();
        int[] now = {0};
        List<ViewAgreement> nodes = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            int self = i;
            ViewAgreement node = new ViewAgreement(i, new View(0, Set.of(0, 1, 2)), 40, (to, message) -> {
                if (to != 2) {
                    events.computeIfAbsent(now[0] + (to == self ? 0 : messageMillis), _ -> new ArrayList<>())
                            .add(() -> nodes.get(to).received(self, message));
                }
            }, _ -> {});
            node.suspect(2, true);
            nodes.add(node);
        }
        for (int time = 0; time < millis; time += 50) {
            events.computeIfAbsent(time, _ -> new ArrayList<>()).add(() -> nodes.subList(0, 2).forEach(
                    ViewAgreement::tick));
        }
        while (!events.isEmpty() && events.firstKey() < millis) {
            now[0] = events.firstKey();
            List<Runnable> next = events.firstEntry().getValue();
            next.removeFirst().run();
            if (next.isEmpty()) {
                events.remove(now[0]);
            }
        }
        return nodes.get(1).view();
    }

    @Test
    void aBallotIsGivenTheTimeThatMessagesTake() {
        assertEquals(Set.of(0, 1), viewAfter(100, 10).members());
        assertEquals(Set.of(0, 1), viewAfter(1000, 40).members());
        assertEquals(Set.of(0, 1), viewAfter(4000, 300).members());
    }

    @Test
    void anyTwoQuorumsHaveAMemberInCommon() {
        View view = new View(1, Set.of(2, 3, 5, 7));
        assertTrue(view.isQuorum(Set.of(2, 7)));
        assertTrue(!view.isQuorum(Set.of(3, 5)));
        assertTrue(view.isQuorum(Set.of(3, 5, 7)));
        assertTrue(!view.isQuorum(Set.of(0, 1, 2)), "others do not count");
    }
}
