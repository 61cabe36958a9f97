package tutti.group;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Locale;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Groups of 1 to 5 members under loss, duplication, delay, reordering, symmetric and one-way partitions, crashes and
 * restarts that lose unwritten records, with truncation: safety at each delivery, then liveness when all is healed.
 * The long tests run ten times as many seeds. {@code -Dtutti.group.seeds=N} runs N seeds, {@code -Dtutti.group.seed=S} begins with S.
 */
class RandomFaultsTest {
    private static final long MILLI = 1_000_000;
    private static final int SEEDS = Integer.getInteger("tutti.group.seeds", 300);
    private static final long FIRST_SEED = Long.getLong("tutti.group.seed", 1);

    private static final GroupParameters.Flow NARROW = new GroupParameters.Flow(4, 64 << 10, 64, 4096, 8192, 200_000,
            2000,
            300, 20);

    private long crashes;
    private long deliveries;
    private long packets;
    private long optimistic;
    private long views;
    private long obsolete;

    @Test
    void allPropertiesHoldUnderRandomFaults() {
        allPropertiesHold(SEEDS, _ -> {});
    }

    @Test
    void allPropertiesHoldWhereNoDiskKeepsMessages() {
        allPropertiesHold(SEEDS, settings -> settings.forgetful = true);
    }

    @Test
    void allPropertiesHoldWhereMessagesMakeOthersObsolete() {
        allPropertiesHold(SEEDS, settings -> {
            settings.subjects = 3;
            settings.flow = NARROW;
        });
        assertTrue(obsolete > SEEDS, "messages became obsolete: " + obsolete);
    }

    @Tag("long")
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void allPropertiesHoldWithMoreSeeds(boolean forgetful) {
        allPropertiesHold(10 * SEEDS, settings -> settings.forgetful = forgetful);
    }

    private void allPropertiesHold(int seeds, Consumer<TestNetwork.Settings> mutation) {
        long begun = System.nanoTime();
        for (long seed = FIRST_SEED; seed < FIRST_SEED + seeds; seed++) {
            run(seed, mutation);
        }
        long millis = Math.max(1, (System.nanoTime() - begun) / MILLI);
        System.out.printf(Locale.ROOT,
                "%d seeds: %d deliveries, %d optimistic, %d packets, %d crashes, %d views told, %d ms%n", seeds,
                deliveries, optimistic, packets, crashes, views, millis);
        assertTrue(crashes >= seeds / 2, "faults happened");
        assertTrue(deliveries > seeds * 30L, "work was done");
    }

    @Test
    void aMemberThatForgotAndTakesItselfForANewOneIsFound() {
        assertFound("position ", s -> {
            s.forgetful = true;
            s.amnesia = true;
        });
    }

    @Test
    void aDiskThatLiesIsFound() {
        assertFound("position ", s -> s.lyingDisk = true);
    }

    @Test
    void deliveryBeforeAMajorityHasTheMessageIsFound() {
        assertFound("position ", s -> s.membersForDelivery = 1);
    }

    @Test
    void aViewOfAMinorityIsFound() {
        assertFound("position ", s -> {
            s.membersForView = 1;
            s.membersForDelivery = 1;
        });
    }

    private void assertFound(String expected, Consumer<TestNetwork.Settings> mutation) {
        for (long seed = 1; seed <= 1000; seed++) {
            try {
                run(seed, s -> {
                    mutation.accept(s);
                    s.members = Math.max(3, s.members);
                });
            } catch (AssertionError e) {
                assertTrue(String.valueOf(e.getMessage()).contains(expected), e::toString);
                System.out.println("found with seed " + seed);
                return;
            }
        }
        throw new AssertionError("not found within 1000 seeds");
    }

    private void run(long seed, Consumer<TestNetwork.Settings> mutation) {
        var settings = new TestNetwork.Settings();
        settings.members = 1 + (int) (seed % 5);
        mutation.accept(settings);
        var network = new TestNetwork(settings, seed);
        var random = network.random.split();
        settings.loss = random.nextInt(3) == 0 ? 0 : random.nextDouble() * 0.15;
        settings.duplication = random.nextDouble() * 0.1;
        settings.diskNanosMax = random.nextInt(4) == 0 ? 20 * MILLI : 400_000;
        if (random.nextInt(4) == 0) {
            settings.flow = NARROW;
        }
        if (random.nextBoolean()) {
            settings.crashAtViewChange = random.nextDouble() * 0.2;
        }
        int burst = random.nextInt(4) == 0 ? 2 : 12;
        try {
            network.startAll();
            int steps = 60 + random.nextInt(60);
            for (int step = 0; step < steps; step++) {
                step(network, random, burst);
                network.run(random.nextLong(1, random.nextInt(3) == 0 ? 2 * MILLI : 30 * MILLI));
            }
            network.heal();
            for (TestNetwork.Host host : network.hosts) {
                if (!host.up()) {
                    host.start(host.restartFrom());
                }
            }
            assertTrue(network.runUntil(network::converged, 10_000 * MILLI), "does not converge");
            for (int i = 0; i < 10; i++) {
                network.hosts.forEach(h -> assertTrue(h.submit()));
            }
            assertTrue(network.runUntil(network::converged, 2_000 * MILLI), "does not go on");
            network.checkTurns();
            for (TestNetwork.Host host : network.hosts) {
                assertEquals(0, host.stateNeeded);
                optimistic += host.optimistic;
                views += host.views;
            }
            crashes += network.crashes;
            deliveries += network.deliveries;
            packets += network.packets;
            obsolete += network.obsolete;
        } catch (AssertionError | IllegalArgumentException | IllegalStateException | IndexOutOfBoundsException e) {
            throw new AssertionError("seed " + seed + ", " + network.describe() + ": " + e.getMessage(), e);
        }
    }

    private static void step(TestNetwork network, java.util.SplittableRandom random, int burst) {
        int members = network.ids.size();
        TestNetwork.Host host = network.hosts.get(random.nextInt(members));
        switch (random.nextInt(20)) {
            case 0 -> {
                if (host.up() && network.mayCrash(host)) {
                    host.crash();
                }
            }
            case 1, 2, 3 -> {
                if (!host.up()) {
                    host.start(host.restartFrom());
                }
            }
            case 4 -> {
                boolean[] side = new boolean[members];
                for (int i = 0; i < members; i++) {
                    side[i] = random.nextBoolean();
                }
                for (int i = 0; i < members; i++) {
                    for (int j = 0; j < members; j++) {
                        network.cut[i][j] = side[i] != side[j];
                    }
                }
            }
            case 5 -> network.cut[host.id][random.nextInt(members)] = true;
            case 6, 7 -> {
                for (boolean[] row : network.cut) {
                    java.util.Arrays.fill(row, false);
                }
            }
            case 8 -> {
                if (network.settings.amnesia) {
                    return;
                }
                long upTo = Long.MAX_VALUE;
                for (TestNetwork.Host each : network.hosts) {
                    long kept = network.settings.forgetful ? each.safe : each.disk.end();
                    upTo = Math.min(upTo, Math.min(each.delivered, kept));
                }
                long everywhere = upTo;
                network.truncated = Math.max(network.truncated, everywhere);
                network.hosts.stream().filter(TestNetwork.Host::up).forEach(h -> h.member().truncate(everywhere));
            }
            case 9 -> {
                for (TestNetwork.Host each : network.hosts) {
                    if (each.up() && random.nextInt(2) == 0 && network.mayCrash(each)) {
                        each.crash();
                    }
                }
            }
            default -> {
                for (int i = random.nextInt(burst); i > 0; i--) {
                    TestNetwork.Host sender = network.hosts.get(random.nextInt(members));
                    if (sender.up()) {
                        sender.submit();
                    }
                }
            }
        }
    }
}
