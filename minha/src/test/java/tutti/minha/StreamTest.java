package tutti.minha;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.minha.jdk.lang.System;
import tutti.minha.jdk.lang.Thread;
import tutti.minha.jdk.net.Names;
import tutti.minha.jdk.net.ServerSocket;
import tutti.minha.jdk.net.Socket;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.net.Impairment.Effect;
import tutti.sim.net.Impairment;
import tutti.sim.net.Network;

/** Connections: what programs see of them, on good networks and on bad ones. */
class StreamTest {
    private static final int PORT = 7000;
    private static final Label EVENT = Label.of("test", "event");
    private static final List<String> ALL = List.of("*");

    private static void say(String what) {
        System.out.println(System.currentTimeMillis() + " " + what);
    }

    /** Sends back what comes, one connection after another. */
    private static void echo(String[] arguments) throws IOException {
        try (ServerSocket server = new ServerSocket(PORT)) {
            for (int i = 0; i < Integer.parseInt(arguments[0]); i++) {
                try (Socket socket = server.accept()) {
                    socket.getInputStream().transferTo(socket.getOutputStream());
                }
            }
        }
    }

    private static byte[] bytes(int count, int seed) {
        byte[] bytes = new byte[count];
        new java.util.Random(seed).nextBytes(bytes);
        return bytes;
    }

    private static void writeAndEnd(Socket socket, byte[] bytes) {
        new Thread(() -> {
            try {
                socket.getOutputStream().write(bytes);
                socket.shutdownOutput();
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }).start();
    }

    @Test
    void linesGoThereAndBack() {
        try (World world = new World()) {
            world.machine("b").run("echo", StreamTest::echo, "1");
            world.machine("a").run("ask", _ -> {
                try (Socket socket = new Socket("b", PORT)) {
                    socket.getOutputStream().write("one\ntwo\n".getBytes(StandardCharsets.UTF_8));
                    BufferedReader in = new BufferedReader(
                            new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
                    say(in.readLine());
                    say(in.readLine());
                    socket.shutdownOutput();
                    say("end " + in.readLine());
                    say(socket.getInetAddress() + " " + socket.getPort() + " " + socket.getLocalAddress() + " "
                            + socket.getRemoteSocketAddress());
                }
            });
            world.simulation.run();
            assertEquals(List.of("0 one", "0 two", "0 end null", "0 b/10.0.0.1 7000 /10.0.0.2 b/10.0.0.1:7000"),
                    world.log);
            assertEquals("", world.simulation.describe());
        }
    }

    private record Result(String fingerprint, long nanos, long dropped) {}

    /** Sends so many bytes to an echo and back over a bad network, and compares them. */
    private static Result transfer(long seed, int count, List<Effect> effects) {
        try (World world = new World(seed)) {
            Network network = world.simulation.network();
            int number = 0;
            for (Effect effect : effects) {
                network.impair(new Impairment(ALL, ALL, effect), world.simulation.kernel().random("bad " + number++));
            }
            byte[] sent = bytes(count, (int) seed);
            long[] ended = {0};
            world.machine("b").run("echo", StreamTest::echo, "1");
            world.machine("a").run("ask", _ -> {
                try (Socket socket = new Socket("b", PORT)) {
                    writeAndEnd(socket, sent);
                    byte[] received = socket.getInputStream().readAllBytes();
                    assertArrayEquals(sent, received);
                    ended[0] = System.nanoTime();
                    say("same");
                }
            });
            world.simulation.run();
            assertEquals(1, world.log.stream().filter(line -> line.endsWith(" same")).count(),
                    world.log + world.simulation.describe());
            assertEquals("", world.simulation.describe());
            return new Result(world.simulation.fingerprint(), ended[0], network.counts().dropped());
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void everythingArrivesOverABadNetwork(long seed) {
        List<Effect> bad = List.of(new Effect.Lose(seed <= 4 ? 0.02 : 0.2),
                new Effect.Duplicate(0.05, new Distribution.Uniform(1, Nanos.MILLI)),
                new Effect.Reorder(0.1, new Distribution.Uniform(1, 2 * Nanos.MILLI)));
        Result first = transfer(seed, 200_000, bad);
        assertTrue(first.dropped() > 5, first.toString());
        assertEquals(first, transfer(seed, 200_000, bad), "the same run");
    }

    @Test
    void burstsAreSurvived() {
        transfer(9, 300_000, List.of(new Effect.LoseInBursts(new Distribution.Uniform(1, 5 * Nanos.MILLI),
                new Distribution.Uniform(1, 20 * Nanos.MILLI))));
    }

    @Test
    void aGoodNetworkIsUsed() {
        Result result = transfer(1, 10_000_000, List.of());
        assertEquals(0, result.dropped());
        // A gigabit a second there and, at the same time, back: 85 ms and a bit.
        assertTrue(result.nanos() < 300 * Nanos.MILLI, Nanos.text(result.nanos()));
        Result lossy = transfer(1, 10_000_000, List.of(new Effect.Lose(0.01)));
        assertTrue(lossy.nanos() > result.nanos(), "losses cost time: " + Nanos.text(lossy.nanos()));
        assertNotEquals(result.fingerprint(), lossy.fingerprint());
    }

    @Test
    void whereNobodyListensItIsRefused() {
        try (World world = new World()) {
            world.machine("b").run("nothing", _ -> Thread.sleep(1000));
            world.machine("a").run("ask", _ -> {
                say(assertThrows(ConnectException.class, () -> new Socket("b", PORT)).getMessage());
                say(assertThrows(ConnectException.class, () -> new Socket("localhost", PORT)).getMessage());
                assertThrows(java.net.UnknownHostException.class, () -> new Socket("nobody", PORT));
                assertThrows(java.net.NoRouteToHostException.class, () -> new Socket("10.9.9.9", PORT));
            });
            world.simulation.run();
            assertEquals(List.of("0 Connection refused", "0 Connection refused"), world.log);
        }
    }

    @Test
    void whoDoesNotAnswerIsGivenUp() {
        try (World world = new World()) {
            world.machine("b").run("nothing", _ -> {});
            world.machine("a").run("ask", _ -> {
                Thread.sleep(1);
                world.machine("b").host().crash();
                try (Socket socket = new Socket()) {
                    say(assertThrows(SocketTimeoutException.class,
                            () -> socket.connect(new InetSocketAddress(Names.getByName("b"), PORT), 500)).getMessage());
                }
                say(assertThrows(ConnectException.class, () -> new Socket("b", PORT)).getMessage());
            });
            world.simulation.run();
            assertEquals(List.of("501 Connect timed out", "127501 Connection timed out"), world.log);
        }
    }

    @Test
    void timeoutsOfReadingAndAccepting() {
        assertEquals(List.of("100 Accept timed out", "150 Read timed out", "150 true", "170 Socket closed",
                "190 Socket closed"), World.run(_ -> {
                    ServerSocket server = new ServerSocket(0);
                    assertThrows(BindException.class, () -> new ServerSocket(server.getLocalPort()));
                    server.setSoTimeout(100);
                    say(assertThrows(SocketTimeoutException.class, server::accept).getMessage());
                    Socket client = new Socket("localhost", server.getLocalPort());
                    Socket other = server.accept();
                    client.setSoTimeout(50);
                    InputStream in = client.getInputStream();
                    say(assertThrows(SocketTimeoutException.class, in::read).getMessage());
                    other.getOutputStream().write(1);
                    say(String.valueOf(in.read() == 1));
                    client.setSoTimeout(0);
                    Thread.startVirtualThread(() -> closeAfter(20, client));
                    say(assertThrows(SocketException.class, in::read).getMessage());
                    server.setSoTimeout(0);
                    Thread.startVirtualThread(() -> closeAfter(20, server));
                    say(assertThrows(SocketException.class, server::accept).getMessage());
                    other.close();
                }));
    }

    private static void closeAfter(long millis, AutoCloseable what) {
        try {
            Thread.sleep(millis);
            what.close();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void whatWasNotReadIsToldByAReset() {
        try (World world = new World()) {
            world.machine("b").run("rude", _ -> {
                try (ServerSocket server = new ServerSocket(PORT); Socket socket = server.accept()) {
                    assertEquals(1, socket.getInputStream().read());
                }
            });
            world.machine("a").run("ask", _ -> {
                try (Socket socket = new Socket("b", PORT)) {
                    socket.getOutputStream().write(new byte[]{1, 2, 3});
                    say(assertThrows(SocketException.class, () -> socket.getInputStream().read()).getMessage());
                    assertThrows(SocketException.class, () -> socket.getOutputStream().write(1));
                }
            });
            world.simulation.run();
            assertEquals(List.of("0 Connection reset"), world.log);
        }
    }

    /** The loss, in hundredths, and when all must have arrived: soon after the reader has begun. */
    @ParameterizedTest
    @CsvSource({"0, 20100", "2, 21500", "10, 45000"})
    void aSlowReaderHoldsTheWriterBack(int loss, long until) {
        slowReader(simulation -> simulation.network().impair(new Impairment(ALL, ALL, new Effect.Lose(loss / 100.0)),
                simulation.kernel().random("loss")), until);
    }

    @Test
    void whatIsLostWhenTheWindowOpensIsSentAgainSoon() {
        slowReader(simulation -> simulation.kernel().schedule(20 * Nanos.SECOND, EVENT, () -> {
            Network.Impaired cut = simulation.network().impair(
                    new Impairment(List.of("a"), List.of("b"), new Effect.Block()), simulation.kernel().random("cut"));
            simulation.kernel().schedule(100 * Nanos.MILLI, EVENT, cut::lift);
        }), 20_600);
    }

    private static void slowReader(Consumer<Simulation> trouble, long until) {
        try (World world = new World()) {
            trouble.accept(world.simulation);
            byte[] sent = bytes(500_000, 1);
            long[] arrived = {0};
            world.machine("b").run("slow", _ -> {
                try (ServerSocket server = new ServerSocket(PORT); Socket socket = server.accept()) {
                    Thread.sleep(20_000);
                    assertArrayEquals(sent, socket.getInputStream().readAllBytes());
                    arrived[0] = System.currentTimeMillis();
                    say("same");
                }
            });
            world.machine("a").run("fast", _ -> {
                try (Socket socket = new Socket("b", PORT)) {
                    OutputStream out = socket.getOutputStream();
                    out.write(sent, 0, 100_000);
                    assertTrue(System.currentTimeMillis() < 15_000, "the buffers hold this");
                    out.write(sent, 100_000, 400_000);
                    assertTrue(System.currentTimeMillis() >= 20_000, "and not that");
                    say("written");
                }
            });
            world.simulation.run();
            assertEquals(List.of("same", "written"),
                    world.log.stream().map(line -> line.replaceFirst(".* ", "")).sorted().toList());
            assertTrue(arrived[0] < until, arrived[0] + " ms");
        }
    }

    @Test
    void aProcessThatEndsClosesAndAMachineThatRebootsResets() {
        try (World world = new World()) {
            world.machine("b").run("server", _ -> {
                ServerSocket server = new ServerSocket(PORT);
                Socket socket = server.accept();
                if (socket.getInputStream().read() == 'x') {
                    System.exit(1);
                }
                Thread.sleep(100_000);
            });
            world.machine("a").run("ask", _ -> {
                try (Socket socket = new Socket("b", PORT)) {
                    socket.getOutputStream().write('x');
                    say("end " + socket.getInputStream().read());
                }
                assertThrows(ConnectException.class, () -> new Socket("b", PORT));
                world.machine("b").host().crash();
                world.machine("b").host().boot();
                Thread.sleep(1);
                try (Socket socket = new Socket("b", PORT)) {
                    socket.getOutputStream().write('y');
                    Thread.sleep(10);
                    world.machine("b").host().crash();
                    world.machine("b").host().boot();
                    socket.getOutputStream().write('y');
                    say(assertThrows(SocketException.class, () -> socket.getInputStream().read()).getMessage());
                }
                world.machine("b").host().crash();
            });
            world.simulation.run();
            assertEquals(List.of("0 end -1", "201 Connection reset"), world.log);
        }
    }

    @Test
    void aPartitionIsOutlived() {
        try (World world = new World()) {
            world.machine("b").run("echo", StreamTest::echo, "1");
            world.machine("a").run("ask", _ -> {
                try (Socket socket = new Socket("b", PORT)) {
                    Network.Impaired cut = world.simulation.network().impair(
                            new Impairment(ALL, ALL, new Effect.Block()), world.simulation.kernel().random("cut"));
                    world.simulation.kernel().schedule(10 * Nanos.SECOND, EVENT, cut::lift);
                    byte[] sent = bytes(50_000, 3);
                    writeAndEnd(socket, sent);
                    assertTrue(Arrays.equals(sent, socket.getInputStream().readAllBytes()));
                    assertTrue(System.currentTimeMillis() > 10_000 && System.currentTimeMillis() < 40_000);
                    say("same");
                }
            });
            world.simulation.run();
            assertEquals(1, world.log.size(), world.log.toString());
        }
    }

    @Test
    void aPartitionThatStaysEndsTheConnection() {
        try (World world = new World()) {
            world.machine("b").run("echo", StreamTest::echo, "1");
            world.machine("a").run("ask", _ -> {
                try (Socket socket = new Socket("b", PORT)) {
                    world.simulation.network().impair(new Impairment(ALL, ALL, new Effect.Block()),
                            world.simulation.kernel().random("cut"));
                    socket.getOutputStream().write(1);
                    say(assertThrows(SocketException.class, () -> socket.getInputStream().read()).getMessage());
                }
            });
            world.simulation.runFor(java.time.Duration.ofHours(1));
            assertTrue(world.log.getFirst().matches("[0-9]{6,7} Connection timed out"), world.log.toString());
        }
    }

    @Test
    void aFullBacklogMakesOthersAskAgain() {
        try (World world = new World()) {
            world.machine("b").run("server", _ -> {
                try (ServerSocket server = new ServerSocket(PORT, 1)) {
                    Thread.sleep(500);
                    for (int i = 0; i < 3; i++) {
                        server.accept().close();
                    }
                }
            });
            world.machine("a").run("ask", _ -> {
                for (int i = 0; i < 3; i++) {
                    new Thread(() -> {
                        try (Socket socket = new Socket("b", PORT)) {
                            assertEquals(-1, socket.getInputStream().read());
                            say("served");
                        } catch (IOException e) {
                            throw new IllegalStateException(e);
                        }
                    }).start();
                }
            });
            world.simulation.run();
            assertEquals(List.of("500 served", "1000 served", "3000 served"), world.log);
        }
    }
}
