package tutti.server.http;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import tutti.node.ReplicaNode;
import tutti.server.config.NodeConfig;

/** What operators may have a node do; from any thread, several at a time. What fails says why, for people. */
public interface Operations {
    /** What was asked for was begun, and nobody knows yet what came of it. */
    final class UnansweredException extends IOException {
        private static final long serialVersionUID = 1;

        /** Of what was waited for in vain. */
        public UnansweredException(Throwable cause) {
            super("the node does not answer, perhaps it is stopping, or lags (/status says why)", cause);
        }
    }

    /**
     * Writes a flight recording. May block.
     *
     * @return the file
     * @throws IOException if there is nothing to write or it cannot be written
     */
    Path writeFlightRecording() throws IOException;

    /**
     * How the secondaries are. Does not block.
     *
     * @throws IOException if the node has none now
     */
    NodeStatus.Secondaries secondaries() throws IOException;

    /**
     * Makes secondaries, or gives some up, until there are so many. Blocks meanwhile, and while another call does it.
     *
     * @param count 0 to {@link NodeConfig.InProcess#SECONDARIES_MAX}
     * @return how they are then
     * @throws IOException if the node cannot have any now, or one cannot be filled; then it says how many there are
     */
    NodeStatus.Secondaries secondaries(int count) throws IOException;

    /**
     * Positions of the order that some node could not apply: those that are open, and the last ones that were decided. Blocks
     * shortly.
     *
     * @throws IOException if the node knows of none now
     */
    List<NodeStatus.Position> positions() throws IOException;

    /**
     * Decides about one that is open. Blocks shortly.
     *
     * @param holds whether its effects hold; if not, they are left out at all nodes
     * @return how it stood
     * @throws IOException if it is not open, or nothing can be ordered now
     */
    List<NodeStatus.Position> decide(long position, boolean holds) throws IOException;

    /**
     * Reads its configuration again.
     *
     * @return which changes count now, and which when it is started again
     * @throws IOException if it cannot be used; then the node goes on as before
     */
    String reload() throws IOException;

    /**
     * The members of the cluster. Does not block.
     *
     * @throws IOException if the node does not know them now
     */
    NodeStatus.Members members() throws IOException;

    /**
     * Changes them. Blocks shortly.
     *
     * @return how they are then
     * @throws IOException if that cannot be
     */
    NodeStatus.Members change(ReplicaNode.MemberChange change) throws IOException;

    /**
     * The parameters of the protocol that the order can change. Does not block.
     *
     * @throws IOException if the node does not know them now
     */
    NodeStatus.Parameters parameters() throws IOException;

    /**
     * Changes them, at all nodes. Blocks shortly.
     *
     * @param wanted values by name, of those that change
     * @return how they are then
     * @throws IOException if that cannot be
     */
    NodeStatus.Parameters change(Map<String, String> wanted) throws IOException;

    /**
     * The tables that some nodes lack. Does not block.
     *
     * @throws IOException if the node does not know them now
     */
    List<NodeStatus.PlacedTable> tables() throws IOException;

    /**
     * Keeps tables on some nodes only. Blocks while clients are in the way.
     *
     * @param tables at least one, as people name them
     * @param nodes that keep them; none to forget that they are placed
     * @return how it is then
     * @throws IOException if that cannot be
     */
    List<NodeStatus.PlacedTable> place(List<String> tables, Set<Integer> nodes) throws IOException;

    /**
     * Takes a step of a comparison of all nodes' databases. May block for as long as the database takes to be read.
     *
     * @param step what is asked for, by name
     * @return JSON
     * @throws IOException if it cannot be taken now
     */
    String comparison(Map<String, String> step) throws IOException;

    /**
     * Takes a step of telling what was changed. May block for as long as was asked for.
     *
     * @param step what is asked for, by name
     * @return JSON, line by line
     * @throws IOException if it cannot be taken now
     */
    String changes(Map<String, String> step) throws IOException;

    /**
     * Begins a backup of the node. May block.
     *
     * @param after position behind which what was ordered is wanted; negative for all that a node begins with
     * @return must be used, once
     * @throws IOException if there is none now
     */
    Download backup(long after) throws IOException;

    /** Something large. */
    @FunctionalInterface
    interface Download {
        /** Writes it. What ends early says so itself. */
        void writeTo(OutputStream out) throws IOException;
    }

    /** Of a node that can only be looked at. */
    Operations NONE = new Operations() {
        @Override
        public Path writeFlightRecording() throws IOException {
            throw new IOException("this node has no flight recorder");
        }

        @Override
        public NodeStatus.Secondaries secondaries() throws IOException {
            throw new IOException("this node has no secondaries");
        }

        @Override
        public NodeStatus.Secondaries secondaries(int count) throws IOException {
            return secondaries();
        }

        @Override
        public List<NodeStatus.Position> positions() throws IOException {
            throw new IOException("this node knows of no positions");
        }

        @Override
        public List<NodeStatus.Position> decide(long position, boolean holds) throws IOException {
            return positions();
        }

        @Override
        public String reload() throws IOException {
            throw new IOException("this node has no configuration");
        }

        @Override
        public String comparison(Map<String, String> step) throws IOException {
            throw new IOException("this node has nothing to compare");
        }

        @Override
        public String changes(Map<String, String> step) throws IOException {
            throw new IOException("this node does not tell what is changed");
        }

        @Override
        public Download backup(long after) throws IOException {
            throw new IOException("this node has nothing to back up");
        }

        @Override
        public NodeStatus.Members members() throws IOException {
            throw new IOException("this node knows of no members");
        }

        @Override
        public NodeStatus.Members change(ReplicaNode.MemberChange change) throws IOException {
            return members();
        }

        @Override
        public NodeStatus.Parameters parameters() throws IOException {
            throw new IOException("this node has no parameters");
        }

        @Override
        public NodeStatus.Parameters change(Map<String, String> wanted) throws IOException {
            return parameters();
        }

        @Override
        public List<NodeStatus.PlacedTable> tables() throws IOException {
            throw new IOException("this node knows of no tables");
        }

        @Override
        public List<NodeStatus.PlacedTable> place(List<String> tables, Set<Integer> nodes) throws IOException {
            return tables();
        }
    };
}
