package tutti.group;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;

class GroupMemberTest {
    private static final long MILLI = 1_000_000;

    private static TestNetwork group(int members) {
        return group(members, _ -> {});
    }

    private static TestNetwork group(int members, Consumer<TestNetwork.Settings> change) {
        var settings = new TestNetwork.Settings();
        settings.members = members;
        change.accept(settings);
        var network = new TestNetwork(settings, 42);
        network.startAll();
        assertTrue(network.runUntil(network::converged, 1000 * MILLI), network::describe);
        return network;
    }

    private static void submit(TestNetwork network, int member, int messages) {
        for (int i = 0; i < messages; i++) {
            assertTrue(network.hosts.get(member).submit());
        }
    }

    private static void converge(TestNetwork network) {
        assertTrue(network.runUntil(network::converged, 5000 * MILLI), network::describe);
        network.checkTurns();
    }

    @Test
    void allDeliverTheSameOfAllSenders() {
        var network = group(3);
        for (int member = 0; member < 3; member++) {
            submit(network, member, 500);
        }
        converge(network);
        assertEquals(1500, network.order.size());
        for (TestNetwork.Host host : network.hosts) {
            assertEquals(1500, host.optimistic, "each was announced before its position was known");
            assertNull(host.blocked);
            assertEquals(Set.of(0, 1, 2), host.view.members());
        }
    }

    @Test
    void aMessageIsDeliveredSoonerThanTheNextGossip() {
        var network = group(3, s -> s.diskNanosMax = 1000);
        long begun = network.now;
        submit(network, 2, 1);
        converge(network);
        assertTrue(network.now - begun < 4 * 300_000, "took " + (network.now - begun) + " ns");
    }

    @Test
    void oneMemberIsAGroup() {
        var network = group(1);
        submit(network, 0, 100);
        converge(network);
        network.hosts.get(0).crash();
        network.hosts.get(0).start(60);
        converge(network);
        submit(network, 0, 1);
        converge(network);
        assertEquals(101, network.order.size());
    }

    /** Sooner than anybody would miss it: what it was sent in its former life is gone. */
    @Test
    void whoBeginsANewLifeAtOnceIsToldAbsentFirst() {
        var network = group(3);
        submit(network, 1, 10);
        converge(network);
        network.hosts.forEach(host -> host.missed.clear());
        network.hosts.get(2).crash();
        network.hosts.get(2).start(10);
        converge(network);
        assertTrue(network.runUntil(() -> network.hosts.get(0).missed.contains(2), 1000 * MILLI), network::describe);
        assertEquals(Set.of(0, 1, 2), network.hosts.get(0).view.members());
        assertEquals(Set.of(2), network.hosts.get(0).missed);
    }

    @Test
    void aMinorityBlocksAndSaysSoAndGoesOnLater() {
        var network = group(5);
        for (int here : new int[]{0, 1}) {
            for (int there : new int[]{2, 3, 4}) {
                network.cut[here][there] = true;
                network.cut[there][here] = true;
            }
        }
        network.run(500 * MILLI);
        assertEquals(GroupEffects.Blocked.NO_MAJORITY, network.hosts.get(0).blocked);
        assertEquals(new Group.View(Set.of(0, 1), false, -1), network.hosts.get(1).view);
        assertEquals(new Group.View(Set.of(2, 3, 4), true, 2), network.hosts.get(4).view);
        for (int member = 0; member < 5; member++) {
            submit(network, member, 10);
        }
        network.run(500 * MILLI);
        assertEquals(30, network.order.size(), "those of the majority");
        assertEquals(0, network.hosts.get(0).delivered);
        network.heal();
        converge(network);
        assertEquals(50, network.order.size());
        assertNull(network.hosts.get(0).blocked);
    }

    @Test
    void anotherSequencerTakesOverWithinTheTimeouts() {
        var network = group(3);
        int leader = network.hosts.get(0).view.leader();
        submit(network, (leader + 1) % 3, 20);
        network.run(1 * MILLI);
        network.hosts.get(leader).crash();
        TestNetwork.Host survivor = network.hosts.get((leader + 1) % 3);
        long begun = network.now;
        assertTrue(network.runUntil(() -> survivor.backDelivered == 20, 1000 * MILLI), network::describe);
        assertTrue(network.now - begun < 300 * MILLI, "took " + (network.now - begun) / MILLI + " ms");
        network.hosts.get(leader).start(0);
        converge(network);
    }

    @Test
    void whoWasAwayGetsWhatItMissedFromTheLogOfTheOthers() {
        var network = group(3);
        submit(network, 0, 50);
        converge(network);
        network.hosts.get(2).crash();
        for (int i = 0; i < 100; i++) {
            submit(network, 0, 30);
            network.run(10 * MILLI);
        }
        network.hosts.get(2).start(40);
        converge(network);
        assertEquals(3050, network.hosts.get(2).delivered);
    }

    @Test
    void aQueueThatIsFullRefusesAndTakesAgain() {
        var network = group(3,
                s -> s.flow = new GroupParameters.Flow(8, 1 << 20, 100, 200, 1000, 1_000_000_000, 1 << 20,
                        4096, 200));
        network.hosts.get(1).crash();
        network.hosts.get(2).crash();
        TestNetwork.Host host = network.hosts.get(0);
        int taken = 0;
        while (host.submit(30)) {
            taken++;
        }
        assertEquals(33, taken);
        assertEquals(990, host.member().queuedBytes());
        assertFalse(host.submit(30));
        assertThrows(IllegalArgumentException.class, () -> host.member().submit(network.now, new byte[201]));
        network.hosts.get(1).start(0);
        network.hosts.get(2).start(0);
        converge(network);
        assertEquals(taken, network.order.size());
        assertTrue(host.submit());
        converge(network);
    }

    @Test
    void whatIsObsoleteAndNotMulticastIsDroppedAndLeavesRoom() {
        var network = group(3,
                s -> s.flow = new GroupParameters.Flow(8, 1 << 20, 100, 200, 1000, 1_000_000_000, 1 << 20,
                        4096, 200));
        network.hosts.get(1).crash();
        network.hosts.get(2).crash();
        TestNetwork.Host host = network.hosts.get(0);
        assertTrue(network.runUntil(() -> host.blocked != null, 1000 * MILLI));
        for (int round = 0; round < 100; round++) {
            for (long subject = 1; subject <= 3; subject++) {
                assertTrue(host.submit(100, subject));
            }
        }
        assertTrue(host.submit(100));
        // Some were multicast before the view was left: they stay.
        long kept = 301 - host.member().obsolete();
        assertEquals(100 * kept, host.member().queuedBytes());
        assertTrue(kept < 10, () -> kept + " are kept");
        network.hosts.get(1).start(0);
        network.hosts.get(2).start(0);
        converge(network);
        assertEquals(kept, network.order.size());
    }

    @Test
    void theRateLimitsWhatIsSent() {
        var network = group(3, s -> s.flow = new GroupParameters.Flow(32, 1 << 20, 512, 4096, 1 << 20, 100_000, 2000,
                4096, 200));
        long begun = network.now;
        for (int i = 0; i < 10; i++) {
            assertTrue(network.hosts.get(0).submit(4000));
        }
        assertTrue(network.runUntil(() -> network.hosts.get(0).member().queuedBytes() < 4001, 2000 * MILLI));
        assertTrue(network.now - begun > 330 * MILLI, "36 kB took " + (network.now - begun) / MILLI + " ms");
    }

    @Test
    void whatIsTruncatedIsGoneAndWhoNeedsItIsToldAndSilent() {
        var network = group(3);
        network.hosts.get(2).crash();
        submit(network, 0, 500);
        assertTrue(network.runUntil(() -> network.hosts.get(1).delivered == 500, 1000 * MILLI), network::describe);
        for (int member : new int[]{0, 1}) {
            network.hosts.get(member).member().truncate(400);
            assertEquals(401, network.hosts.get(member).member().firstRetained());
        }
        network.hosts.get(2).start(0);
        network.run(1000 * MILLI);
        assertEquals(401, network.hosts.get(2).stateNeeded);
        assertEquals(GroupEffects.Blocked.STATE_NEEDED, network.hosts.get(2).blocked);
        assertEquals(Set.of(0, 1), network.hosts.get(0).view.members(), "the silent one counts as dead");
        submit(network, 0, 10);
        assertTrue(network.runUntil(() -> network.hosts.get(1).delivered == 510, 1000 * MILLI), network::describe);
        network.hosts.get(1).crash();
        assertThrows(DurableLog.TruncatedException.class, () -> new GroupMember(
                GroupParameters.defaults(1, network.ids), network.hosts.get(1).disk.copy(), 399, network.hosts.get(1)));
        network.hosts.get(1).start(400);
        assertTrue(network.runUntil(() -> network.hosts.get(1).delivered == 510, 2000 * MILLI), network::describe);
    }

    @Test
    void lossCostsTimeButNothingElse() {
        var network = group(3, s -> {
            s.loss = 0.1;
            s.duplication = 0.1;
        });
        for (int i = 0; i < 50; i++) {
            for (int member = 0; member < 3; member++) {
                submit(network, member, 10);
            }
            network.run(5 * MILLI);
        }
        converge(network);
        assertEquals(1500, network.order.size());
    }

    @Test
    void theSameEventsGiveTheSameEffects() {
        assertEquals(trace(), trace());
    }

    private static String trace() {
        var network = group(3, s -> s.loss = 0.05);
        submit(network, 0, 200);
        submit(network, 2, 200);
        network.run(20 * MILLI);
        network.hosts.get(1).crash();
        network.run(300 * MILLI);
        return network.packets + " " + network.describe();
    }

    @Test
    void aLongRunTakesLittleTimePerMessage() {
        var network = group(3, s -> {
            s.encode = false;
            s.flow = GroupParameters.Flow.defaults();
            s.timing = GroupParameters.Timing.defaults();
        });
        int messages = 60_000;
        long begun = System.nanoTime();
        long virtual = network.now;
        for (int sent = 0; sent < messages;) {
            for (TestNetwork.Host host : network.hosts) {
                if (host.member().queuedBytes() < 100_000) {
                    submit(network, host.id, 100);
                    sent += 100;
                }
            }
            network.run(MILLI);
        }
        converge(network);
        double seconds = (System.nanoTime() - begun) / 1e9;
        System.out.printf(Locale.ROOT,
                "%d messages to 3 members in %.2f s: %.0f messages/s, %.2f packets per message; %.0f ms of virtual time%n",
                messages, seconds, messages / seconds, (double) network.packets / messages,
                (network.now - virtual) / 1e6);
        assertEquals(messages, network.order.size());
    }

    /** As one of a faulty member that the others believe, or one that was forged where nobody proves anything. */
    private static List<Packet> impossible(long view, long end) {
        long[] lives = {1, 1, 1};
        byte[] payload = {1};
        Ordered far = new Ordered(end + 7, view, 0, 1, 1, payload);
        Ordered unheard = new Ordered(1, view, 0, 1, 999, payload);
        return List.of(new Packet.Gossip(view, 0, 0, 1, new long[]{1}, 1, new long[]{1}),
                new Packet.Gossip(view, 0, 0, 1, new long[9], 1, new long[9]),
                new Packet.Prepare(view + 3, lives), new Packet.Prepare(view + 2, new long[7]),
                new Packet.Prepare(Long.MAX_VALUE - 1, lives), new Packet.Alive(1, Long.MAX_VALUE, 0, 0, 0, true),
                new Packet.Alive(1, 1, Long.MAX_VALUE, 0, 0, true), new Packet.Alive(1, 1L << 62, 0, 0, 0, true),
                new Packet.Prepare((1L << 62) - 2, lives),
                new Packet.Install(view + 3, new int[]{0, 1}, new long[]{1, 1}, 0, 0, 0),
                new Packet.Install(view + 2, new int[]{0, 1, 2, 55}, new long[]{1, 1, 1, 1}, 0, 0, 0),
                new Packet.Install(view + 2, new int[]{}, new long[]{}, 0, 0, 0),
                new Packet.Stream(view, 1, 0, new Packet.Order(1, List.of(new Packet.Run(0, 1, 1)))),
                new Packet.Entries(view, 0, 0, 0, List.of(far)), new Packet.Entries(view, 0, 0, 0, List.of(unheard)),
                new Packet.Forgotten(view, 0, 0));
    }

    /** It has been dragged far, and there are views enough. */
    @Test
    void afterTheFurthestNumberThatIsBelievedViewsAreStillMade() {
        var network = group(3);
        long far = (1L << 61) + (1L << 40) - 4;
        for (int to = 0; to < 2; to++) {
            assertTrue(network.hosts.get(to).member().received(network.now, 2,
                    new Packet.Alive(1, far, 0, 0, 0, true)));
        }
        network.hosts.get(2).crash();
        submit(network, 1, 10);
        network.hosts.get(2).start(network.hosts.get(2).restartFrom());
        submit(network, 0, 10);
        converge(network);
        assertTrue(network.hosts.get(0).disk.accepted() > far);
        assertEquals(20, network.order.size());
    }

    @Test
    void aPacketThatCannotBeTrueIsLeftOutAndCostsNobodyItsOrder() {
        var network = group(3);
        submit(network, 1, 10);
        converge(network);
        long view = network.hosts.get(0).disk.accepted();
        int refused = 0;
        for (Packet packet : impossible(view, 10)) {
            for (int to = 0; to < 2; to++) {
                refused += network.hosts.get(to).member().received(network.now, 2, packet) ? 0 : 1;
            }
        }
        assertTrue(refused >= 26, refused + " were refused");
        for (int member = 0; member < 3; member++) {
            submit(network, member, 10);
        }
        converge(network);
        assertEquals(40, network.order.size());
        network.hosts.forEach(host -> assertEquals(view, host.disk.accepted(), "in the same view"));
    }

    /** It could not be started again either, while its clock has not come to that life. */
    @Test
    void aLaterLifeOfItsReceiverThatThereIsNotEndsNoOrder() {
        var network = group(3);
        submit(network, 1, 10);
        converge(network);
        long view = network.hosts.get(0).disk.accepted();
        for (int to = 0; to < 3; to++) {
            for (int from = 0; from < 3; from++) {
                if (from != to) {
                    GroupMember member = network.hosts.get(to).member();
                    long[] lives = {1, 1, 1};
                    lives[to] = 99;
                    long next = View.after(view, from, 3);
                    assertFalse(member.received(network.now, from, new Packet.Prepare(next, lives)));
                    assertEquals(99, member.claimedLife());
                }
            }
        }
        for (int member = 0; member < 3; member++) {
            submit(network, member, 10);
        }
        converge(network);
        assertEquals(40, network.order.size());
        network.hosts.forEach(host -> assertEquals(view, host.disk.accepted(), "in the same view"));
    }

    /** The sequencer's next decision is one on messages that nobody has sent so; the others go on without what it says. */
    @Test
    void whatTheSequencerCannotHaveDecidedEndsItsViewAndNoMember() {
        var network = group(3);
        submit(network, 1, 10);
        converge(network);
        long view = network.hosts.get(0).disk.accepted();
        int sequencer = View.maker(view, 3);
        int other = (sequencer + 1) % 3;
        int third = (sequencer + 2) % 3;
        network.forged = true;
        for (int to : new int[]{other, third}) {
            GroupMember member = network.hosts.get(to).member();
            for (long sequence = 1; sequence < 40; sequence++) {
                member.received(network.now, sequencer, new Packet.Stream(view, sequence, 0,
                        new Packet.Order(999, List.of(new Packet.Run(other, 999, 1)))));
            }
        }
        submit(network, other, 10);
        submit(network, third, 10);
        converge(network);
        assertEquals(30, network.order.size());
        assertTrue(network.hosts.get(other).disk.accepted() > view, "in another view");
    }
}
