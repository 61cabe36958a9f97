package tutti.minha;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.BindException;
import java.net.DatagramPacket;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.minha.jdk.lang.System;
import tutti.minha.jdk.lang.Thread;
import tutti.minha.jdk.net.DatagramSocket;
import tutti.minha.jdk.net.MulticastSocket;
import tutti.minha.jdk.net.Names;
import tutti.sim.net.Impairment;

class DatagramTest {
    private static final int PORT = 7000;

    private static DatagramPacket packet(String text, String to) throws UnknownHostException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return new DatagramPacket(bytes, bytes.length, Names.getByName(to), PORT);
    }

    private static String text(DatagramPacket packet) {
        return new String(packet.getData(), packet.getOffset(), packet.getLength(), StandardCharsets.UTF_8);
    }

    private static void echo(String[] arguments) throws IOException {
        try (DatagramSocket socket = new DatagramSocket(PORT)) {
            DatagramPacket packet = new DatagramPacket(new byte[100], 100);
            for (int i = 0; i < Integer.parseInt(arguments[0]); i++) {
                socket.receive(packet);
                socket.send(packet);
            }
        }
    }

    @Test
    void questionsAreAnswered() {
        try (World world = new World()) {
            world.machine("b").run("echo", DatagramTest::echo, "3");
            world.machine("a").run("ask", _ -> {
                try (DatagramSocket socket = new DatagramSocket()) {
                    DatagramPacket answer = new DatagramPacket(new byte[5], 5);
                    for (String text : List.of("one", "two, too long", "three")) {
                        socket.send(packet(text, "b"));
                        socket.receive(answer);
                        System.out.println(text(answer) + " from " + answer.getSocketAddress());
                    }
                    System.out.println(socket.getLocalAddress() + " " + (socket.getLocalPort() > 32_767));
                }
            });
            world.simulation.run();
            assertEquals(List.of("one from /10.0.0.1:7000", "two,  from /10.0.0.1:7000", "three from /10.0.0.1:7000",
                    "/0.0.0.0 true"), world.log);
            assertEquals("", world.simulation.describe());
        }
    }

    @Test
    void whatDoesNotComeIsWaitedForUntilTheTimeout() {
        assertEquals(List.of("100", "closed 150"), World.run(_ -> {
            DatagramSocket socket = new DatagramSocket(PORT);
            assertThrows(BindException.class, () -> new DatagramSocket(PORT));
            socket.setSoTimeout(100);
            DatagramPacket packet = new DatagramPacket(new byte[5], 5);
            assertThrows(SocketTimeoutException.class, () -> socket.receive(packet));
            System.out.println(System.currentTimeMillis());
            socket.setSoTimeout(0);
            new Thread(() -> {
                try {
                    Thread.sleep(50);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                socket.close();
            }).start();
            assertThrows(SocketException.class, () -> socket.receive(packet));
            System.out.println("closed " + System.currentTimeMillis());
            new DatagramSocket(PORT).close();
            assertThrows(UnknownHostException.class, () -> Names.getByName("nobody"));
        }));
    }

    @Test
    void groupsReachTheirMembers() {
        try (World world = new World()) {
            for (String name : List.of("a", "b", "c")) {
                world.machine(name).run("member", _ -> {
                    try (MulticastSocket socket = new MulticastSocket(PORT);
                            MulticastSocket twin = new MulticastSocket(PORT)) {
                        InetSocketAddress group = new InetSocketAddress(Names.getByName("230.0.0.1"), PORT);
                        if (!name.equals("c")) {
                            socket.joinGroup(group, null);
                            twin.joinGroup(group, null);
                        }
                        Thread.sleep(1);
                        if (name.equals("c")) {
                            socket.send(packet("all", "230.0.0.1"));
                        }
                        for (MulticastSocket each : List.of(socket, twin)) {
                            each.setSoTimeout(10);
                            DatagramPacket packet = new DatagramPacket(new byte[5], 5);
                            try {
                                each.receive(packet);
                                System.out.println(name + " " + text(packet) + " from "
                                        + Names.getHostName(packet.getAddress()));
                            } catch (SocketTimeoutException _) {
                                System.out.println(name + " nothing");
                            }
                        }
                    }
                });
            }
            world.simulation.run();
            assertEquals(List.of("a all from c", "a all from c", "b all from c", "b all from c", "c nothing",
                    "c nothing"), world.log.stream().sorted().toList());
        }
    }

    @Test
    void aConnectedSocketHearsItsPeerOnlyAndLoopbackIsHome() {
        assertEquals(List.of("hi from /127.0.0.1", "false"), World.run(_ -> {
            try (DatagramSocket one = new DatagramSocket(PORT);
                    DatagramSocket two = new DatagramSocket();
                    DatagramSocket three = new DatagramSocket()) {
                two.connect(Names.getByName("localhost"), PORT);
                assertThrows(IllegalArgumentException.class, () -> two.send(packet("x", "10.0.0.9")));
                two.send(new DatagramPacket("hi".getBytes(StandardCharsets.UTF_8), 2));
                DatagramPacket packet = new DatagramPacket(new byte[5], 5);
                one.receive(packet);
                System.out.println(text(packet) + " from " + packet.getAddress());
                packet.setPort(two.getLocalPort());
                three.send(packet);
                two.setSoTimeout(1);
                assertThrows(SocketTimeoutException.class, () -> two.receive(packet));
                System.out.println(two.isClosed());
            }
        }));
    }

    private static String lossy(long seed) {
        try (World world = new World(seed)) {
            world.simulation.network().impair(
                    new Impairment(List.of("*"), List.of("*"), new Impairment.Effect.Lose(0.3)),
                    world.simulation.kernel().random("loss"));
            world.machine("b").run("echo", DatagramTest::echo, "50");
            world.machine("a").run("ask", _ -> {
                try (DatagramSocket socket = new DatagramSocket()) {
                    socket.setSoTimeout(20);
                    DatagramPacket answer = new DatagramPacket(new byte[5], 5);
                    int lost = 0;
                    for (int i = 0; i < 50; i++) {
                        socket.send(packet("one", "b"));
                        try {
                            socket.receive(answer);
                        } catch (SocketTimeoutException _) {
                            lost++;
                        }
                    }
                    System.out.println(lost + " lost");
                }
            });
            world.simulation.run();
            return world.simulation.fingerprint() + world.log;
        }
    }

    @Test
    void theSameSeedGivesTheSameRun() {
        String first = lossy(1);
        assertEquals(first, lossy(1));
        assertNotEquals(first, lossy(2));
        assertTrue(first.matches(".*\\[(1[5-9]|2[0-9]|3[0-5]) lost].*"), first);
    }
}
