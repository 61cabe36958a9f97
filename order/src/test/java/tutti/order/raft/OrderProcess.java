package tutti.order.raft;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Order;

/**
 * A node in a process of its own, which a test can kill. Arguments: id, directory, ports of all nodes. It orders each line
 * that it reads and writes a line {@code D position sender message} for each delivery and {@code V leader members
 * majority} for each view.
 */
final class OrderProcess {
    private OrderProcess() {}

    public static void main(String[] args) throws Exception {
        int self = Integer.parseInt(args[0]);
        Map<Integer, InetSocketAddress> members = new TreeMap<>();
        for (int i = 2; i < args.length; i++) {
            members.put(i - 2, new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(args[i])));
        }
        PrintStream out = System.out;
        try (Order order = RaftNodes.open(RaftNodes.config(self, members), Path.of(args[1]))) {
            order.group().join(view -> out
                    .println("V " + view.leader() + " " + view.members().size() + " " + view.majority()));
            order.log().start(0, new DurableLog.Reader() {
                @Override
                public void delivered(long position, int sender, ByteBuffer payload) {
                    out.println("D " + position + " " + sender + " " + StandardCharsets.UTF_8.decode(payload));
                }

                @Override
                public void failed(Throwable cause) {
                    out.println("F " + cause);
                }
            });
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                order.log().append(line.getBytes(StandardCharsets.UTF_8));
            }
        }
    }
}
