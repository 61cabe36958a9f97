package tutti.bench.micro;

import java.lang.management.ManagementFactory;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import tutti.core.certify.CertificationIndex;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;

/**
 * Measures how many keys per second one core can certify, and how many bytes a live key takes. Each operation is one
 * key of a transaction of ten: asked about and, since no transaction meets another, noted; the index forgets at the
 * pace at which it learns, so that the number of live keys stays and rebuilding is part of what is measured. All keys
 * are different and random: the worst case for the memory caches.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
public class CertificationBenchmark {
    /** Keys of one transaction. */
    public static final int KEYS_PER_TRANSACTION = 10;
    /** Transactions are made beforehand and come again when they have long been forgotten. */
    private static final int WINDOWS = 2;

    /** How many keys lie above the floor. */
    @Param({"100000", "1000000", "10000000"})
    private int liveKeys = 1;

    private CertificationIndex index = new CertificationIndex();
    private KeySet[] transactions = {};
    private long position;
    private int window;
    private int next;

    /** What an iteration notes beside its speed; bytes are the largest seen, the pause the longest of one transaction. */
    @AuxCounters(AuxCounters.Type.EVENTS)
    @State(Scope.Thread)
    public static class Memory {
        /** Bytes of the index per live key, in hundredths. */
        public long bytesPerLiveKeyHundredths;
        /** Longest time that one transaction took, in microseconds: a rebuild. */
        public long longestMicros;

        /** Transactions certified. */
        public long transactions;
        /** CPU time that the thread was given, in milliseconds: less than the iteration took on a busy machine. */
        public long cpuMillis;

        private long cpuNanosBefore;

        /** Each iteration looks anew. */
        @Setup(Level.Iteration)
        public void reset() {
            bytesPerLiveKeyHundredths = 0;
            longestMicros = 0;
            transactions = 0;
            cpuMillis = 0;
            cpuNanosBefore = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        }

        /** Reads the thread's clock. */
        @TearDown(Level.Iteration)
        public void read() {
            cpuMillis = (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - cpuNanosBefore) / 1_000_000;
        }
    }

    /** Fills the index until it is in a steady state. */
    @Setup(Level.Trial)
    public void fill() {
        window = liveKeys / KEYS_PER_TRANSACTION;
        SplittableRandom random = new SplittableRandom(liveKeys);
        transactions = new KeySet[window * WINDOWS];
        for (int i = 0; i < transactions.length; i++) {
            KeySet.Builder keys = new KeySet.Builder();
            for (int k = 0; k < KEYS_PER_TRANSACTION; k++) {
                // Of ten keys, as in TPC-C, most are updated rows and some are new ones and parents.
                KeyKind kind = k < 6 ? KeyKind.UPDATE : k < 8 ? KeyKind.EXCLUSIVE : KeyKind.REFERENCE;
                keys.add(random.nextLong(), kind);
            }
            transactions[i] = keys.build();
        }
        for (int i = 0; i < transactions.length; i++) {
            certifyOne();
        }
    }

    private int certifyOne() {
        KeySet keys = transactions[next];
        next = next + 1 == transactions.length ? 0 : next + 1;
        long floor = Math.max(0, position - window);
        index.forget(floor);
        int conflict = index.conflict(keys, floor, floor);
        index.note(keys, ++position);
        return conflict;
    }

    /** One transaction, counted as its keys. */
    @Benchmark
    @OperationsPerInvocation(KEYS_PER_TRANSACTION)
    public int certifyAndNote(Memory memory) {
        long begun = System.nanoTime();
        int conflict = certifyOne();
        long micros = (System.nanoTime() - begun) / 1000;
        if (micros > memory.longestMicros) {
            memory.longestMicros = micros;
        }
        long hundredths = index.bytes() * 100 / liveKeys;
        if (hundredths > memory.bytesPerLiveKeyHundredths) {
            memory.bytesPerLiveKeyHundredths = hundredths;
        }
        memory.transactions++;
        if (conflict >= 0) {
            throw new IllegalStateException("transactions with keys of their own cannot be in conflict");
        }
        return conflict;
    }
}
