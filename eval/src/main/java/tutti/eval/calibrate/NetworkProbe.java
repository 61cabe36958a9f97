package tutti.eval.calibrate;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import tutti.model.fit.Fits;

/**
 * What the network costs on this machine.
 *
 * @param roundTrip of a statement that does nothing, from the client to the server and back
 * @param packetNanos processor time of sending a packet of {@value #PACKET_BYTES} bytes, or of receiving one: the mean of
 *            the two
 */
record NetworkProbe(Fits roundTrip, double packetNanos) {
    static final int PACKET_BYTES = 1400;
    private static final int ROUND_TRIPS = 2000;
    private static final int PACKETS = 20_000;

    /** Measures, for a fraction of a second. */
    static NetworkProbe measure(RealServer server) throws IOException, SQLException {
        return new NetworkProbe(roundTrip(server), packets());
    }

    private static Fits roundTrip(RealServer server) throws SQLException {
        long[] nanos = new long[ROUND_TRIPS];
        try (Connection connection = server.database().open();
                PreparedStatement nothing = connection.prepareStatement("select 1")) {
            for (int i = -ROUND_TRIPS / 2; i < ROUND_TRIPS; i++) {
                long before = System.nanoTime();
                try (ResultSet row = nothing.executeQuery()) {
                    row.next();
                }
                if (i >= 0) {
                    nanos[i] = System.nanoTime() - before;
                }
            }
        }
        return Fits.of(nanos);
    }

    /** Over the loopback interface a packet that was sent is there: one thread can do both. */
    private static double packets() throws IOException {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        try (DatagramChannel from = DatagramChannel.open(); DatagramChannel to = DatagramChannel.open()) {
            to.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            from.connect(to.getLocalAddress());
            ByteBuffer sent = ByteBuffer.allocateDirect(PACKET_BYTES);
            ByteBuffer received = ByteBuffer.allocateDirect(PACKET_BYTES);
            long before = 0;
            for (int i = -PACKETS / 2; i < PACKETS; i++) {
                before = i == 0 ? threads.getCurrentThreadCpuTime() : before;
                sent.clear();
                from.write(sent);
                received.clear();
                to.receive(received);
            }
            return (threads.getCurrentThreadCpuTime() - before) / 2.0 / PACKETS;
        }
    }
}
