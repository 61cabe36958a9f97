package tutti.runtime.real;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Addresses of the loopback interface at which nobody listens. Their ports are none of those that the system gives to whoever
 * asks for any, and are claimed from other virtual machines that ask here until this one ends: so they are still free when a node begins to
 * listen, or comes back after a while.
 */
public final class FreePorts {
    private static final int FIRST = 10_000;
    private static final int COUNT = 10_000;
    /** One for all modules, of which two may be tested at a time. */
    private static final Path CLAIMS = Path.of(System.getProperty("user.home"), ".cache", "tutti", "test-ports");
    /** What is claimed here: a lock of the file of the port's name, which the system gives back when the process ends. */
    private static final Map<Integer, FileChannel> CLAIMED = new HashMap<>();

    private FreePorts() {}

    /** So many, all different. */
    public static List<InetSocketAddress> addresses(int count) throws IOException {
        List<ServerSocket> held = new ArrayList<>();
        try {
            while (held.size() < count) {
                int port = FIRST + ThreadLocalRandom.current().nextInt(COUNT);
                try {
                    if (claim(port)) {
                        held.add(new ServerSocket(port, 1, InetAddress.getLoopbackAddress()));
                    }
                } catch (BindException taken) {
                    // Another one is tried.
                }
            }
            return held.stream().map(one -> new InetSocketAddress(one.getInetAddress(), one.getLocalPort())).toList();
        } finally {
            for (ServerSocket socket : held) {
                socket.close();
            }
        }
    }

    /** Claims a port until this virtual machine ends; false if another one has it, or this one has claimed it before. */
    public static synchronized boolean claim(int port) throws IOException {
        if (CLAIMED.containsKey(port)) {
            return false;
        }
        FileChannel file = FileChannel.open(Files.createDirectories(CLAIMS).resolve(String.valueOf(port)),
                StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        if (file.tryLock() == null) {
            file.close();
            return false;
        }
        CLAIMED.put(port, file);
        return true;
    }
}
