package tutti.sim.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.runtime.DataFile;
import tutti.runtime.Directory;
import tutti.runtime.Loop;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.machine.SimMachine;
import tutti.sim.net.Address;
import tutti.sim.net.Datagram;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Network;
import tutti.sim.net.Segment;
import tutti.sim.thread.Threads;

class InjectorTest {
    private static final Label EVENT = Label.of("test", "event");

    private final Kernel kernel = new Kernel(1);
    private final Network network = new Network(kernel);
    private final List<String> log = new ArrayList<>();

    private final EngineFaults engines = new EngineFaults() {
        @Override
        public void refuses(String host, double rate) {
            say(host + " refuses " + rate);
        }

        @Override
        public void full(String host, boolean full) {
            say(host + " full " + full);
        }

        @Override
        public void ownRows(String host, double rate) {
            say(host + " own rows " + rate);
        }

        @Override
        public void abortRate(String host, double rate) {
            say(host + " aborts " + rate);
        }

        @Override
        public void commitDelay(String host, Distribution delay) {
            say(host + " commits " + delay);
        }

        @Override
        public void hangs(String host, boolean hangs) {
            say(host + " hangs " + hangs);
        }

        @Override
        public void down(String host, boolean down) {
            say(host + " down " + down);
        }

        @Override
        public void backToCheckpoint(String host) {
            say(host + " back to a checkpoint");
        }

        @Override
        public void lostSight(String host, boolean lost) {
            say(host + " lost sight of " + lost);
        }

        @Override
        public Change changeParameters(RandomStream random) {
            return oneStep("changes parameters");
        }

        @Override
        public Change change(Action.OfMembers wanted) {
            return oneStep(wanted.toString());
        }

        private Change oneStep(String what) {
            say(what);
            return new Change() {
                @Override
                public void giveUp() {
                    say("given up");
                }

                @Override
                public long made() {
                    return 1;
                }
            };
        }

        @Override
        public long happened(String host, FaultKind kind) {
            return log.size();
        }
    };

    InjectorTest() {
        Threads threads = new Threads(kernel);
        Segment lan = network.segment("lan", LinkConfig.LAN);
        for (String name : List.of("n1", "n2", "n3", "n4")) {
            Host host = new Host(kernel, threads, name, HostConfig.DEFAULT);
            network.attach(host, lan);
            host.onBoot(h -> {
                say(name + " boots");
                network.bind(h, 1, datagram -> say(name + " receives " + datagram.payload()));
            });
            host.boot();
        }
        log.clear();
    }

    private void say(String what) {
        log.add(kernel.now() / Nanos.MILLI + " " + what);
    }

    private Injector run(String faults, Runnable... every100Millis) {
        Injector injector = new Injector(kernel, network, engines,
                FaultPlan.parse("fault-plan 1\nseed 1\nhosts n1,n2\nsafety 1s\n" + faults));
        injector.start(() -> {
            assertEquals(List.of(), injector.active());
            say("healed");
        });
        for (int i = 1; i <= 12; i++) {
            for (Runnable action : every100Millis) {
                kernel.schedule(100L * i * Nanos.MILLI + 50 * Nanos.MILLI, EVENT, action);
            }
        }
        kernel.run();
        return injector;
    }

    private void send() {
        network.send(new Datagram(Address.of("n1", 1), Address.of("n2", 1), kernel.now() / Nanos.MILLI, 10));
    }

    @Test
    void crashesEndInBootsAtTheLatestWhenAllIsHealed() {
        run("""
                f1 at 100ms for 200ms crash host n1 unsynced lost
                f2 at 200ms for 300ms crash host n1 unsynced lost
                f3 at 500ms for 10s crash host n2 unsynced torn
                """, () -> say(network.host("n1").state() + " " + network.host("n2").state()));
        assertEquals(List.of("150 DOWN UP", "250 DOWN UP", "300 n1 boots", "350 UP UP", "450 UP UP", "550 UP DOWN"),
                log.subList(0, 6));
        assertTrue(log.containsAll(List.of("1000 n2 boots", "1000 healed", "1050 UP UP")), log.toString());
    }

    @Test
    void partitionsClogsAndPausesEnd() {
        run("""
                f1 at 100ms for 200ms partition from n1 to n2 direction both
                f2 at 400ms for 200ms clogging from n1 to n2
                f3 at 700ms for 200ms pause host n2
                """, this::send);
        assertEquals(List.of("350 n2 receives 350", "600 n2 receives 450", "600 n2 receives 550", "650 n2 receives 650",
                "900 n2 receives 750", "900 n2 receives 850"), log.subList(0, 6));
    }

    @Test
    void theLastOfOverlappingFaultsCountsAndThenTheFirstAgain() {
        run("""
                f1 at 100ms for 700ms engine-aborts host n1 rate 0.1
                f2 at 200ms for 100ms engine-aborts host n1 rate 0.5
                f3 at 250ms for 100ms engine-aborts host n2 rate 0.7
                f4 at 400ms for 10s slow-commits host n1 by constant 3ms
                """);
        assertEquals(List.of("100 n1 aborts 0.1", "200 n1 aborts 0.5", "250 n2 aborts 0.7", "300 n1 aborts 0.1",
                "350 n2 aborts 0.0", "400 n1 commits constant 3ms", "800 n1 aborts 0.0", "1000 n1 commits constant 0s",
                "1000 healed"), log);
    }

    @Test
    void clocksDisksAndSchedulersAreWrongForAWhile() {
        Host host = network.host("n1");
        run("""
                f1 at 100ms for 200ms clock-drift host n1 rate 1
                f2 at 300ms for 200ms scheduling-latency host n1 by constant 5ms
                f3 at 500ms for 200ms slow-disk host n1 factor 100
                """, () -> {
            long at = kernel.now() / Nanos.MILLI;
            host.after(10 * Nanos.MILLI, EVENT, () -> say("timer of " + at));
            host.disk().access(0, () -> say("disk of " + at));
        });
        assertTrue(
                log.containsAll(List.of("170 timer of 150", "365 timer of 350", "860 timer of 850")),
                log.toString());
        assertTrue(log.stream().anyMatch(line -> line.matches("85[01] disk of 850")), log.toString());
        assertTrue(log.stream().anyMatch(line -> line.endsWith("disk of 550")
                && Integer.parseInt(line.substring(0, line.indexOf(' '))) >= 630), log.toString());
    }

    @Test
    void powerIsLostEverywhereAtOnce() {
        run("f1 at 100ms for 200ms power-loss unsynced torn",
                () -> say(network.host("n1").state() + " " + network.host("n2").state()));
        assertEquals(List.of("150 DOWN DOWN", "250 DOWN DOWN", "300 n1 boots", "300 n2 boots", "350 UP UP"),
                log.subList(0, 5));
    }

    @Test
    void enginesHangGoDownAndComeBack() {
        run("""
                f1 at 100ms for 200ms engine-hang host n1
                f2 at 200ms for 300ms engine-hang host n1
                f3 at 600ms for 100ms engine-down host n2
                f4 at 800ms for 100ms engine-old-checkpoint host n2
                """, () -> {});
        assertEquals(List.of("100 n1 hangs true", "200 n1 hangs true", "300 n1 hangs true", "500 n1 hangs false",
                "600 n2 down true", "700 n2 down false", "800 n2 back to a checkpoint"),
                log.subList(0, 7));
    }

    @Test
    void wallClocksJumpAndComeBack() {
        Host host = network.host("n1");
        run("f1 at 100ms for 200ms clock-jump host n1 jump back time 1000s", () -> say(
                "shows " + host.wallClock(0) / Nanos.MILLI));
        assertEquals(List.of("150 shows -999850", "250 shows -999750", "350 shows 350"), log.subList(0, 3));
    }

    @Test
    void linksAreCloggedAndUncloggedOneByOne() {
        run("f1 at 100ms for 800ms swizzled-clogging hosts *", this::send);
        List<String> expected = List.of("150", "250", "350", "450", "550", "650", "750", "850", "950");
        assertEquals(expected, log.stream().filter(line -> line.contains("receives"))
                .map(line -> line.substring(line.lastIndexOf(' ') + 1)).limit(9).toList(), "in order, none lost");
        assertTrue(log.stream().anyMatch(line -> line.matches("[789]00 n2 receives 450")),
                "while both were clogged nothing came: " + log);
    }

    /** Each kind, once, where there is something for it to do: it says so. */
    @ParameterizedTest
    @EnumSource(FaultKind.class)
    void eachKindLeavesProofThatItHappened(FaultKind kind) {
        for (long seed = 1;; seed++) {
            FaultPlan plan = FaultPlan.random(seed, FaultProfile.parse(kind.word()).withFaultsMax(1).withDownMax(3),
                    List.of("n1", "n2", "n3"), List.of("n4"), Nanos.SECOND);
            if (plan.faults().size() == 1 && happens(plan, kind)) {
                return;
            }
            assertTrue(seed < 100, kind + " never leaves a proof");
        }
    }

    private static boolean happens(FaultPlan plan, FaultKind kind) {
        InjectorTest fresh = new InjectorTest();
        Injector injector = new Injector(fresh.kernel, fresh.network, fresh.engines, plan);
        for (String name : plan.allHosts()) {
            fresh.network.host(name).onBoot(fresh::busy);
            fresh.network.host(name).crash();
            fresh.network.host(name).boot();
        }
        injector.start();
        fresh.kernel.runUntil(2 * Nanos.SECOND);
        assertTrue(injector.happened().keySet().equals(Set.of(kind)), injector.happened().toString());
        return injector.happened().get(kind) > 0;
    }

    /** Writes, forces and sends, again and again. */
    private void busy(Host host) {
        SimMachine machine = new SimMachine(host, network);
        machine.background("begin", () -> {
            machine.directory("order");
            machine.directory("database");
            Directory directory = machine.directory("node");
            DataFile file = directory.open("file", Directory.Open.EMPTY);
            Loop loop = machine.loop("busy", failed -> {});
            loop.execute(new Runnable() {
                private long at;

                @Override
                public void run() {
                    try {
                        file.write(ByteBuffer.allocate(2000).putLong(at), at);
                        at += 1000;
                        file.force(true);
                        directory.sync();
                    } catch (IOException e) {
                        say(e.getMessage());
                    }
                    for (String other : List.of("n1", "n2", "n3")) {
                        network.send(new Datagram(Address.of(host.name(), 1), Address.of(other, 1), at, 10));
                    }
                    loop.schedule(Nanos.MILLI, this);
                }
            });
        });
    }

    @Test
    void hostsThatAreNotThereAreRefusedAtOnce() {
        FaultPlan plan = FaultPlan.none(List.of("n1", "n9"), Nanos.SECOND);
        assertThrows(IllegalArgumentException.class, () -> new Injector(kernel, network, EngineFaults.NONE, plan));
    }
}
