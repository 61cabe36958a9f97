package tutti.runtime;

import java.net.InetSocketAddress;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Machines that a contract is held against, and their time. */
public interface TestWorld extends AutoCloseable {
    /** A machine, numbered from 0; there are two. */
    Machine machine(int number);

    /** Who a machine proves to be, or null if it does not. */
    default @Nullable PeerIdentity identity(int number) {
        return null;
    }

    /** An empty directory of its own, the same one each time. */
    Directory directory(int number) throws Exception;

    /** An address of a machine at which nobody listens, another one each time. */
    InetSocketAddress freeAddress(int number) throws Exception;

    /** Lets time pass until something holds; fails if it does not within a time that is long. */
    void await(String what, BooleanSupplier condition);

    /** Ends it. */
    @Override
    void close();

    /** The same, of machines that can be made to crash. */
    interface Crashing extends TestWorld {
        /** How a machine ends. */
        enum Crash {
            /** Its process is killed, and what it wrote stays in the system's memory. */
            PROCESS_KILLED,
            /** Its power fails: what was not forced is lost. */
            ALL_UNFORCED_LOST,
            /** Its power fails: what was not forced is lost, or not, or in parts. */
            UNFORCED_TORN
        }

        /** Crashes a machine and boots it again; what was opened on it before is of no use any more. */
        void crash(int number, Crash how);
    }
}
