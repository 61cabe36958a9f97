package tutti.model;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import tutti.core.protocol.Message;
import tutti.core.schema.MessageSet;

/** Runs real code, and says how much processor time it is charged (D5.1 section 2.1.3). */
interface CodeCharge {
    /**
     * Runs an event of a protocol.
     *
     * @return nanoseconds on a core of the simulated host, at least 0
     */
    long run(ModelReplica.Charge by, int bytes, Runnable event);

    /** During an event a message is sent: what is measured encodes it. */
    default void sending(Message message) {
        // A model knows its bytes.
    }

    /** The event in which a message is told: what is measured decodes it first. */
    default Runnable arriving(Message message, Runnable event) {
        return event;
    }

    /** By a model: exact, and the same in every run. */
    static CodeCharge byModel(Calibration.Code code, double speed) {
        return (by, bytes, event) -> {
            event.run();
            return switch (by) {
                case MESSAGE -> (long) ((code.messageNanos() + bytes * code.byteNanos()) / speed);
                case EVENT -> (long) (code.eventNanos() / speed);
                case FREE -> 0;
            };
        };
    }

    /**
     * As measured while it runs: the processor time of this thread on this machine, so no two runs are the same. Messages are
     * encoded and decoded for it.
     *
     * @param messages among which those are that come
     */
    static CodeCharge measured(Costs costs, double factor, MessageSet<Message> messages) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        return new CodeCharge() {
            @Override
            public long run(ModelReplica.Charge by, int bytes, Runnable event) {
                long before = threads.getCurrentThreadCpuTime();
                event.run();
                long nanos = (long) ((threads.getCurrentThreadCpuTime() - before) * factor);
                costs.add(nanos);
                return nanos;
            }

            @Override
            public void sending(Message message) {
                message.encode(ByteBuffer.allocate(message.encodedSize()));
            }

            @Override
            public Runnable arriving(Message message, Runnable event) {
                byte[] received = message.bytes();
                return () -> {
                    messages.decode(ByteBuffer.wrap(received));
                    event.run();
                };
            }
        };
    }

    /** As another run measured: exact again, as long as the same events happen. */
    static CodeCharge replayed(Costs costs) {
        return (by, bytes, event) -> {
            event.run();
            return costs.next();
        };
    }
}
