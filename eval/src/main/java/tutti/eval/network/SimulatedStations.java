package tutti.eval.network;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import tutti.sim.host.CpuPool;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;

/**
 * Stations of a simulated machine, which do what those of this machine do ({@link RealStations}) in simulated time. What a program does is
 * charged the processor time that its thread takes here (D5.1, section 2.1.3), what a socket does the time of {@link SocketCosts}. All
 * stations share the processors. What is sent during an event leaves when the time of the event has passed, and is there at once.
 */
final class SimulatedStations implements Stations {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final Label WAKE = Label.of("station", "wakes up");
    /** As in the scenario one-database: Linux gives a processor at once to whoever wakes up. */
    private static final long QUANTUM_NANOS = 50_000;
    /** What the operating system counts of a buffer for a datagram beside its bytes, about. */
    private static final int DATAGRAM_EXTRA_BYTES = 768;

    private final SocketCosts costs;
    private final int processors;

    SimulatedStations(SocketCosts costs, int processors) {
        this.costs = costs;
        this.processors = processors;
    }

    @Override
    public long[] run(List<SocketProgram> programs, Window window) {
        Kernel kernel = new Kernel(1);
        CpuPool cpu = new CpuPool(kernel, "machine", processors, QUANTUM_NANOS);
        List<Station> stations = new ArrayList<>();
        for (SocketProgram program : programs) {
            stations.add(new Station(kernel, cpu, program, window, stations));
        }
        stations.forEach(Station::start);
        kernel.runUntil(window.until());
        return stations.stream().mapToLong(station -> station.usedNanos).toArray();
    }

    private record Sent(int to, byte[] bytes) {}

    private record Received(int from, byte[] bytes) {}

    private final class Station implements SocketProgram.Port {
        private final Kernel kernel;
        private final CpuPool cpu;
        private final SocketProgram program;
        private final Window window;
        private final List<Station> all;
        private final int self;
        private final ArrayDeque<Received> queue = new ArrayDeque<>();
        private final Alarms alarms = new Alarms();
        private List<Sent> sent = new ArrayList<>();
        private long queuedBytes;
        private int read;
        private boolean asleep;
        private long alarm = Kernel.NO_EVENT;
        private long usedNanos;
        /* Of the event that the program is told. */
        private long since;
        private long chargedNanos;

        Station(Kernel kernel, CpuPool cpu, SocketProgram program, Window window, List<Station> all) {
            this.kernel = kernel;
            this.cpu = cpu;
            this.program = program;
            this.window = window;
            this.all = all;
            this.self = all.size();
        }

        void start() {
            charge(0, () -> {
                program.start(this);
                return true;
            });
        }

        /** One datagram; or, when there is none or so many have been taken, what a station does then. */
        private void step() {
            if (read < READ_AT_ONCE && !queue.isEmpty()) {
                read++;
                Received next = queue.remove();
                queuedBytes -= next.bytes.length + DATAGRAM_EXTRA_BYTES;
                charge(costs.receive().of(next.bytes.length), () -> {
                    program.arrived(next.from, ByteBuffer.wrap(next.bytes));
                    return true;
                });
                return;
            }
            boolean any = read > 0;
            long poll = read < READ_AT_ONCE ? costs.pollNanos() : 0;
            read = 0;
            charge(poll, () -> {
                boolean told = alarms.tell(now(), program);
                return program.work() || told || any;
            });
        }

        /** Runs code, and goes on when the time that it has taken has passed: to the next step, or to sleep. */
        private void charge(long nanos, BooleanSupplier code) {
            chargedNanos = nanos;
            since = THREADS.getCurrentThreadCpuTime();
            boolean busy = code.getAsBoolean();
            long took = Math.max(1, chargedNanos + measured());
            List<Sent> leaving = sent;
            sent = new ArrayList<>();
            use(took, () -> {
                long woken = leaving.stream().filter(one -> all.get(one.to).receive(self, one.bytes)).count();
                if (woken * costs.wakingNanos() > 0) {
                    use(woken * costs.wakingNanos(), () -> goOn(busy));
                } else {
                    goOn(busy);
                }
            });
        }

        private void goOn(boolean busy) {
            if (busy) {
                step();
            } else {
                use(Math.max(1, costs.sleepNanos()), this::sleep);
            }
        }

        private void use(long nanos, Runnable then) {
            cpu.execute(nanos, () -> {
                usedNanos += window.has(kernel.now()) ? nanos : 0;
                then.run();
            });
        }

        private long measured() {
            return Math.max(0, THREADS.getCurrentThreadCpuTime() - since - costs.clockNanos());
        }

        private void sleep() {
            if (queue.isEmpty()) {
                asleep = true;
                alarm = kernel.schedule(alarms.sleepTicks(kernel.now(), window.until()) * TICK_NANOS, WAKE, this::wake);
            } else {
                step();
            }
        }

        private void wake() {
            asleep = false;
            kernel.cancel(alarm);
            kernel.schedule(costs.wakeNanos(), WAKE, this::step);
        }

        /** @return whether it slept, and is woken up */
        private boolean receive(int from, byte[] bytes) {
            int counted = bytes.length + DATAGRAM_EXTRA_BYTES;
            if (queuedBytes + counted > costs.receiveBufferBytes()) {
                return false;
            }
            queuedBytes += counted;
            queue.add(new Received(from, bytes));
            if (asleep) {
                wake();
                return true;
            }
            return false;
        }

        @Override
        public long now() {
            long now = kernel.now() + Math.max(0, chargedNanos + measured());
            chargedNanos -= costs.clockNanos();
            return now;
        }

        /** Bytes are copied as they are by an operating system, whose time is known: this machine's does not count. */
        @Override
        public void send(int to, ByteBuffer datagram) {
            long before = THREADS.getCurrentThreadCpuTime();
            byte[] bytes = new byte[datagram.remaining()];
            datagram.get(bytes);
            sent.add(new Sent(to, bytes));
            long copying = THREADS.getCurrentThreadCpuTime() - before + costs.clockNanos();
            chargedNanos += costs.send().of(bytes.length) - copying;
        }

        @Override
        public void timer(long id, long delayNanos) {
            alarms.add(now() + delayNanos, id);
        }
    }
}
