package tutti.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.protocol.Message;
import tutti.core.schema.Schema;
import tutti.group.GroupParameters;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.net.LinkConfig;

/** The order's properties when messages are lost and members crash: uniform agreement and order, validity, first in first out. */
class SequencerChannelTest {
    private static final Label SEND = Label.of("test", "sends");
    private static final int SITES = 5;

    private record Numbered(int sender, int number) implements Message {
        @Override
        public int encodedSize() {
            return 200;
        }

        @Override
        public Schema<?> schema() {
            throw new UnsupportedOperationException();
        }
    }

    /** What one site is told. */
    private static final class Site implements Channel.Receiver {
        private final Kernel kernel;
        long lastNanos;
        final List<Message> ordered = new ArrayList<>();
        final List<Message> received = new ArrayList<>();
        final List<Message> heardOf = new ArrayList<>();
        /** What was delivered before, which may be if a member crashes. */
        final List<Message> late = new ArrayList<>();
        Set<Integer> view = Set.of();

        Site(Kernel kernel) {
            this.kernel = kernel;
        }

        @Override
        public void delivered(long position, int sender, Message message) {
            assertEquals(ordered.size() + 1, position);
            ordered.add(message);
            lastNanos = kernel.now();
        }

        @Override
        public void tentative(int sender, Message message) {
            if (ordered.contains(message)) {
                late.add(message);
            }
            heardOf.add(message);
        }

        @Override
        public void received(int sender, Message message) {
            received.add(message);
        }

        @Override
        public void view(Set<Integer> members) {
            view = members;
        }
    }

    private final List<Site> sites = new ArrayList<>();
    private final List<List<Message>> sent = new ArrayList<>();

    /** Everybody sends every 20 ms on average, also in the milliseconds before somebody crashes. */
    private SequencerChannel run(long seed, List<ModelFault> faults) {
        return run(seed, false, faults);
    }

    private SequencerChannel run(long seed, boolean waitsForAll, List<ModelFault> faults) {
        return run(seed, waitsForAll, faults, _ -> null);
    }

    private SequencerChannel run(long seed, boolean waitsForAll, List<ModelFault> faults,
            Function<Kernel, SequencerSteps.@Nullable Work> work) {
        sites.clear();
        sent.clear();
        Kernel kernel = new Kernel(seed);
        RandomStream random = kernel.random("test");
        LinkConfig link = new LinkConfig(Distribution.parse("uniform 100us 2ms"), 1_000_000_000, 1500, 66, 4_000_000);
        Topology topology = new Topology(List.of(new Topology.Cluster("site", SITES)), 2, 1, 10 * Nanos.MILLI, link,
                link, SITES);
        FaultSchedule schedule = new FaultSchedule(kernel, SITES, faults);
        SequencerChannel channel = new SequencerChannel(kernel, topology,
                new ModelConfig.OrderChoice(ModelConfig.OrderChoice.Kind.SEQUENCER, false, waitsForAll, true,
                        new ModelConfig.GroupTuning(GroupParameters.Flow.defaults(),
                                GroupParameters.Timing.defaults())),
                schedule, work.apply(kernel));
        for (int node = 0; node < SITES; node++) {
            sites.add(new Site(kernel));
            sent.add(new ArrayList<>());
            channel.start(node, sites.get(node));
            long at = 0;
            for (int i = 0; i < 100; i++) {
                at += (long) random.exponential(20.0 * Nanos.MILLI);
                if (at < schedule.crashOf(node)) {
                    Numbered message = new Numbered(node, i);
                    int from = node;
                    sent.get(node).add(message);
                    kernel.schedule(at, SEND, () -> {
                        channel.order(from, message);
                        channel.multicast(from, message, Set.of((from + 1) % SITES));
                    });
                }
            }
        }
        kernel.run();
        return channel;
    }

    private static List<Message> from(int sender, List<Message> messages) {
        return messages.stream().filter(one -> ((Numbered) one).sender == sender).toList();
    }

    @Test
    void theOrderGoesOnAndIsTheSameForAllWhenMembersCrashAndMessagesAreLost() {
        for (int seed = 1; seed <= 200; seed++) {
            int first = seed % SITES;
            int second = seed / SITES % SITES;
            List<ModelFault> faults = List.of(
                    new ModelFault.RandomLoss(0, List.of(0, 1, 2, 3, 4), 0.4),
                    new ModelFault.BurstyLoss(0, List.of(1, 2), Distribution.parse("uniform 0s 10ms"),
                            Distribution.parse("uniform 0s 40ms")),
                    new ModelFault.Crash(600 * Nanos.MILLI, List.of(first)),
                    new ModelFault.Crash((600 + seed * 3) * Nanos.MILLI, List.of(second)));
            assertTrue(run(seed, faults).traffic().lost() > 0);
            String which = "seed " + seed;
            Set<Integer> left = new TreeSet<>(Set.of(0, 1, 2, 3, 4));
            left.remove(first);
            left.remove(second);
            List<Message> order = sites.get(left.iterator().next()).ordered;
            for (int node = 0; node < SITES; node++) {
                List<Message> own = from(node, order);
                if (left.contains(node)) {
                    assertEquals(order, sites.get(node).ordered, which);
                    assertEquals(left, sites.get(node).view, which);
                    assertEquals(sent.get(node), own, which);
                } else {
                    assertEquals(sent.get(node).subList(0, own.size()), own, which);
                    assertEquals(order.subList(0, sites.get(node).ordered.size()), sites.get(node).ordered, which);
                }
                int next = (node + 1) % SITES;
                List<Message> received = sites.get(next).received;
                assertEquals(sent.get(node).subList(0, received.size()), received, which);
                if (left.contains(node) && left.contains(next)) {
                    assertEquals(sent.get(node).size(), received.size(), which);
                }
            }
        }
    }

    @Test
    void whereAllAreWaitedForNothingIsDeliveredThatOneLacks() {
        List<ModelFault> crash = List.of(new ModelFault.Crash(Nanos.SECOND, List.of(2)));
        run(1, true, crash);
        int whileAllWereThere = sites.get(0).ordered.size();
        assertEquals(sites.get(0).ordered, sites.get(4).ordered);
        assertTrue(whileAllWereThere > 100, () -> whileAllWereThere + " before");
        run(1, crash);
        assertTrue(sites.get(0).ordered.size() > whileAllWereThere + 100, () -> sites.get(0).ordered.size()
                + " with a majority, " + whileAllWereThere + " with all");
    }

    @Test
    void eachIsToldOfBeforeItIsDeliveredAndInItsSendersOrder() {
        run(1, List.of(new ModelFault.RandomLoss(0, List.of(0, 1, 2, 3, 4), 0.2)));
        for (Site site : sites) {
            assertEquals(List.of(), site.late);
            assertEquals(Set.copyOf(site.ordered), Set.copyOf(site.heardOf));
            for (int node = 0; node < SITES; node++) {
                assertEquals(sent.get(node), from(node, site.heardOf));
            }
        }
        assertNotEquals(sites.get(4).ordered, sites.get(4).heardOf, "loss must have moved some");
    }

    /** Each computes one step after the other, the sites at different speeds. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void membersThatComputeDeliverTheSameAndLater(boolean waitsForAll) {
        long[] freeAt = new long[SITES];
        long[] longest = new long[2];
        for (int i = 0; i < 2; i++) {
            long stepNanos = i * Nanos.MILLI;
            Arrays.fill(freeAt, 0);
            run(1, waitsForAll, List.of(), kernel -> (site, then) -> {
                freeAt[site] = Math.max(kernel.now(), freeAt[site]) + (site + 1) * stepNanos;
                kernel.schedule(freeAt[site] - kernel.now(), SEND, then);
            });
            for (Site site : sites) {
                assertEquals(sites.getFirst().ordered, site.ordered);
                longest[i] = Math.max(longest[i], site.lastNanos);
                for (int node = 0; node < SITES; node++) {
                    assertEquals(sent.get(node), from(node, site.ordered));
                }
            }
        }
        // The slowest takes two steps of 5 ms for each of 500 messages, which come within two seconds.
        assertTrue(longest[0] < 4 * Nanos.SECOND && longest[1] > 5 * Nanos.SECOND, () -> Arrays.toString(longest));
    }

    @Test
    void withoutAMajorityNothingIsDelivered() {
        run(1, List.of(new ModelFault.Crash(Nanos.SECOND, List.of(0, 2, 4))));
        assertEquals(sites.get(1).ordered, sites.get(3).ordered);
        assertTrue(sites.get(1).ordered.size() > 100, () -> sites.get(1).ordered.size() + " before");
        assertTrue(from(1, sites.get(1).ordered).size() < sent.get(1).size());
    }
}
