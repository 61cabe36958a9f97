package tutti.bench.micro;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.SortedMap;

/** One node of a total order to be measured, whichever library it is made of. */
interface OrderContender extends AutoCloseable {
    /** The libraries that can be measured. */
    enum Library {
        /** Our own adapter, on MicroRaft. */
        TUTTI {
            @Override
            OrderContender open(int self, SortedMap<Integer, InetSocketAddress> members, Path directory)
                    throws Exception {
                return new TuttiContender("raft", self, members, directory);
            }
        },
        /** Apache Ratis, each message a request. */
        RATIS {
            @Override
            OrderContender open(int self, SortedMap<Integer, InetSocketAddress> members, Path directory)
                    throws Exception {
                return new RatisContender(self, members, directory, false);
            }
        },
        /** Apache Ratis, with our batching in front of it. */
        RATIS_BATCHED {
            @Override
            OrderContender open(int self, SortedMap<Integer, InetSocketAddress> members, Path directory)
                    throws Exception {
                return new RatisContender(self, members, directory, true);
            }
        },
        /** Our group communication, which keeps nothing on disks. */
        GROUP {
            @Override
            OrderContender open(int self, SortedMap<Integer, InetSocketAddress> members, Path directory)
                    throws Exception {
                return new TuttiContender("group", self, members, directory);
            }
        },
        /** jgroups-raft with its own log, flushed. */
        JGROUPS {
            @Override
            OrderContender open(int self, SortedMap<Integer, InetSocketAddress> members, Path directory)
                    throws Exception {
                return new JGroupsContender(self, members, directory);
            }
        };

        abstract OrderContender open(int self, SortedMap<Integer, InetSocketAddress> members, Path directory)
                throws Exception;
    }

    /** Returns when the node can have messages ordered. */
    void awaitReady() throws InterruptedException;

    boolean leads();

    /**
     * Has a message ordered.
     *
     * @param acknowledged run once it is ordered and flushed by a majority and known to be so at this node, from any
     *            thread
     */
    void submit(byte[] payload, Runnable acknowledged) throws Exception;

    @Override
    void close();
}
