package tutti.minha;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.minha.jdk.lang.System;
import tutti.minha.jdk.lang.Thread;
import tutti.minha.jdk.net.DatagramSocket;
import tutti.minha.jdk.net.Names;
import tutti.minha.jdk.util.concurrent.locks.LockSupport;
import tutti.minha.proxy.Cost;
import tutti.minha.proxy.EntryProxy;
import tutti.minha.proxy.ExitProxy;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.SimulationFailure;

class ProxyTest {
    private static final int PORT = 7000;

    /** Something that may be real or simulated. */
    interface Server {
        String ask(String question) throws IOException;
    }

    @Test
    void realCodeAsksASimulatedServer() {
        try (World world = new World()) {
            world.machine("b").run("upper", _ -> {
                try (DatagramSocket socket = new DatagramSocket(PORT)) {
                    DatagramPacket packet = new DatagramPacket(new byte[100], 100);
                    while (true) {
                        socket.receive(packet);
                        String text = new String(packet.getData(), 0, packet.getLength(), StandardCharsets.UTF_8);
                        Thread.sleep(3);
                        byte[] answer = text.toUpperCase(java.util.Locale.ROOT).getBytes(StandardCharsets.UTF_8);
                        socket.send(new DatagramPacket(answer, answer.length, packet.getSocketAddress()));
                    }
                }
            });
            Server server = EntryProxy.of(Server.class, ProxyTest::askOverTheNetwork, world.machine("a"), Cost.none());
            assertEquals("ONE", askReal(server, "one"));
            long first = world.simulation.kernel().now();
            assertTrue(first > 3 * Nanos.MILLI && first < 4 * Nanos.MILLI, Nanos.text(first));
            assertEquals("TWO", askReal(server, "two"));
            assertTrue(world.simulation.kernel().now() < 8 * Nanos.MILLI, "time stands still between calls");
            world.machine("b").host().crash();
            assertThrows(SocketTimeoutException.class, () -> server.ask("three"));
            assertEquals("entry to " + Server.class.getName(), server.toString());
        }
    }

    private static String askReal(Server server, String question) {
        try {
            return server.ask(question);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String askOverTheNetwork(String question) throws IOException {
        try (DatagramSocket socket = new DatagramSocket()) {
            socket.setSoTimeout(1000);
            byte[] bytes = question.getBytes(StandardCharsets.UTF_8);
            socket.send(new DatagramPacket(bytes, bytes.length, Names.getByName("b"), PORT));
            DatagramPacket answer = new DatagramPacket(new byte[100], 100);
            socket.receive(answer);
            return new String(answer.getData(), 0, answer.getLength(), StandardCharsets.UTF_8);
        }
    }

    @Test
    void theCallersOwnTimeMayCount() {
        try (World world = new World()) {
            Server server = EntryProxy.of(Server.class, question -> String.valueOf(System.currentTimeMillis()),
                    world.machine("a"), Cost.of(5 * Nanos.MILLI));
            assertEquals(List.of("0", "5", "10"),
                    List.of(askReal(server, ""), askReal(server, ""), askReal(server, "")));
        }
    }

    @Test
    void aCallWithoutAnAnswerSaysWhoWaitsForWhat() {
        try (World world = new World()) {
            Server server = EntryProxy.of(Server.class, _ -> {
                LockSupport.park();
                return "";
            }, world.machine("a"), Cost.none());
            String message = assertThrows(SimulationFailure.class, () -> server.ask("")).getMessage();
            assertTrue(message.contains("has no result") && message.contains("thread a/entry/main (WAITING)"), message);
        }
    }

    @Test
    void simulatedCodeAsksARealServerAndPaysForIt() {
        try (World world = new World()) {
            Server real = String::strip;
            Server server = ExitProxy.of(Server.class, real, world.machine("b"), Cost.of(20 * Nanos.MILLI));
            for (int i = 0; i < 2; i++) {
                world.machine("a").run("client", _ -> System.out.println(
                        server.ask(" x ") + " at " + System.currentTimeMillis()));
            }
            world.machine("b");
            world.simulation.run();
            assertEquals(List.of("x at 20", "x at 40"), world.log, "one at a time");
            assertEquals(40 * Nanos.MILLI, world.machine("b").host().busyNanos());
        }
    }

    @Test
    void measuredTimeLeavesOutCallsBack() {
        try (World world = new World()) {
            Server inner = EntryProxy.of(Server.class, question -> {
                LockSupport.parkNanos(Nanos.SECOND);
                return question + "!";
            }, world.machine("a"), Cost.none());
            Server outer = ExitProxy.of(Server.class, question -> inner.ask(question) + "?", world.machine("a"),
                    Cost.measured());
            world.machine("a").run("client", _ -> {
                System.out.println(outer.ask("x"));
                long nanos = System.nanoTime();
                assertTrue(nanos > Nanos.SECOND && nanos < 30 * Nanos.SECOND, Nanos.text(nanos));
            });
            world.simulation.run();
            assertEquals(List.of("x!?"), world.log);
        }
    }
}
