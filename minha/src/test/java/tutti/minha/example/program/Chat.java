package tutti.minha.example.program;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A server that tells every client what any client says, with monitors, a pool of threads and static variables. */
public final class Chat {
    private static final int PORT = 9000;
    private static final List<String> SAID = new ArrayList<>();
    private static int expected;

    private Chat() {}

    /** {@code server CLIENTS} or {@code client HOST NAME}. */
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("server")) {
            serve(Integer.parseInt(arguments[1]));
        } else {
            ask(arguments[1], arguments[2]);
        }
    }

    private static void serve(int clients) throws IOException {
        expected = clients;
        try (ServerSocket server = new ServerSocket(PORT);
                ExecutorService pool = Executors.newFixedThreadPool(clients, task -> {
                    Thread thread = new Thread(task, "client");
                    thread.setDaemon(true);
                    return thread;
                })) {
            for (int i = 0; i < clients; i++) {
                Socket socket = server.accept();
                pool.submit(() -> {
                    talk(socket);
                    return null;
                });
            }
        }
        System.out.println("server heard " + SAID.size());
    }

    private static void talk(Socket socket) throws IOException, InterruptedException {
        try (socket;
                BufferedReader in = reader(socket);
                PrintWriter out = new PrintWriter(socket.getOutputStream(), true, StandardCharsets.UTF_8)) {
            say(in.readLine());
            awaitAll();
            synchronized (SAID) {
                SAID.stream().sorted().forEach(out::println);
            }
        }
    }

    private static void say(String line) {
        synchronized (SAID) {
            SAID.add(line);
            SAID.notifyAll();
        }
    }

    private static void awaitAll() throws InterruptedException {
        synchronized (SAID) {
            while (SAID.size() < expected) {
                SAID.wait();
            }
        }
    }

    private static BufferedReader reader(Socket socket) throws IOException {
        return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
    }

    private static void ask(String host, String name) throws IOException {
        try (Socket socket = new Socket(host, PORT); BufferedReader in = reader(socket)) {
            socket.getOutputStream().write((name + "\n").getBytes(StandardCharsets.UTF_8));
            System.out.println(name + " read " + in.lines().toList());
        }
    }
}
