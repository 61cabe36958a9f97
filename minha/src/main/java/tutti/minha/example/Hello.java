package tutti.minha.example;

import java.io.IOException;
import java.net.DatagramPacket;
import java.nio.charset.StandardCharsets;
import tutti.minha.jdk.lang.System;
import tutti.minha.jdk.net.DatagramSocket;
import tutti.minha.jdk.net.Names;

/**
 * D5.1, appendix C.3: says hello to a peer in a datagram, and waits for the peer's. Beside {@code java.net} and
 * {@code java.lang.System} only imports differ from a program for the JDK; {@code InetAddress.getByName} is
 * {@code Names.getByName}.
 */
public final class Hello {
    private static final int PORT = 12_345;
    private static final int ROOM = 10;

    private Hello() {}

    /**
     * Runs it.
     *
     * @param arguments the name or the address of the peer
     */
    public static void main(String[] arguments) throws IOException {
        if (arguments.length != 1) {
            System.out.println("usage: Hello PEER");
            return;
        }
        try (DatagramSocket socket = new DatagramSocket(PORT)) {
            byte[] hello = "Hello".getBytes(StandardCharsets.UTF_8);
            socket.send(new DatagramPacket(hello, hello.length, Names.getByName(arguments[0]), PORT));
            DatagramPacket packet = new DatagramPacket(new byte[ROOM], ROOM);
            socket.receive(packet);
            System.out.println("received " + packet.getLength() + " bytes at " + System.currentTimeMillis()
                    + " ms from " + packet.getAddress() + ":" + packet.getPort() + ": "
                    + new String(packet.getData(), 0, packet.getLength(), StandardCharsets.UTF_8));
        }
    }
}
