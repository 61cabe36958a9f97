package tutti.eval.network;

import java.nio.ByteBuffer;

/** The two benchmarks of UDP: one process writes as fast as it can to another; and round trips (D5.1, section 2.6). */
final class UdpPrograms {
    /** Datagrams that are sent before the station looks for what came. */
    private static final int AT_ONCE = 16;

    private UdpPrograms() {}

    /** Writes datagrams to station 1 as fast as it can. */
    static final class Writer implements SocketProgram {
        private final ByteBuffer datagram;
        private final int size;
        private final Tally written;
        private Port port = Unstarted.PORT;

        Writer(int size, Tally written) {
            this.size = size;
            this.datagram = ByteBuffer.allocateDirect(size);
            this.written = written;
        }

        @Override
        public void start(Port of) {
            port = of;
        }

        @Override
        public boolean work() {
            for (int i = 0; i < AT_ONCE; i++) {
                datagram.clear();
                port.send(1, datagram);
                written.count(port.now(), size);
            }
            return true;
        }
    }

    /** Counts what comes. */
    static final class Reader implements SocketProgram {
        private final Tally read;
        private Port port = Unstarted.PORT;

        Reader(Tally read) {
            this.read = read;
        }

        @Override
        public void start(Port of) {
            port = of;
        }

        @Override
        public void arrived(int from, ByteBuffer datagram) {
            read.count(port.now(), datagram.remaining());
        }
    }

    /** Sends a datagram to station 1, and another one when it has come back. */
    static final class Caller implements SocketProgram {
        /** One that has not come back for so long is lost. */
        private static final long LOST_NANOS = 100_000_000;

        private final ByteBuffer datagram;
        private final Tally trips;
        private Port port = Unstarted.PORT;
        private long number;
        private long sentAt;

        Caller(int size, Tally trips) {
            this.datagram = ByteBuffer.allocateDirect(size);
            this.trips = trips;
        }

        @Override
        public void start(Port of) {
            port = of;
            call();
        }

        private void call() {
            number++;
            datagram.clear();
            datagram.putLong(0, number);
            sentAt = port.now();
            port.send(1, datagram);
            port.timer(number, LOST_NANOS);
        }

        @Override
        public void arrived(int from, ByteBuffer answer) {
            if (answer.getLong(answer.position()) == number) {
                trips.took(port.now(), port.now() - sentAt);
                call();
            }
        }

        @Override
        public void timer(long id) {
            if (id == number) {
                call();
            }
        }
    }

    /** Sends back what comes. */
    static final class Echo implements SocketProgram {
        private Port port = Unstarted.PORT;

        @Override
        public void start(Port of) {
            port = of;
        }

        @Override
        public void arrived(int from, ByteBuffer datagram) {
            port.send(from, datagram);
        }
    }

    /** The port of a program that has not been started. */
    enum Unstarted implements SocketProgram.Port {
        /** The only one. */
        PORT;

        @Override
        public long now() {
            throw failure();
        }

        @Override
        public void send(int to, ByteBuffer datagram) {
            throw failure();
        }

        @Override
        public void timer(long id, long delayNanos) {
            throw failure();
        }

        private static IllegalStateException failure() {
            return new IllegalStateException("the program has not been started");
        }
    }
}
