package tutti.server.http;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * One look at one node: what {@code /status} answers and what gauges among the metrics show. Immutable; its numbers are
 * taken one after another, so they may be a few transactions apart.
 *
 * @param node the node's id
 * @param name the node's name
 * @param cluster the cluster's name
 * @param state what it is doing
 * @param reason why it is not ready, for people; null if it is
 * @param protocol how the copies are kept identical
 * @param version of Tutti
 * @param database name and version of the engine, such as {@code PostgreSQL 18.6}
 * @param sql where it speaks the PostgreSQL protocol, {@code host:port}
 * @param positions how far it is
 * @param leader id of the node that orders, or null if none is known
 * @param majority whether this node can have transactions ordered now
 * @param members all nodes of the cluster
 * @param sessions client sessions now
 * @param inFlight transactions of this node that wait for the outcome of their commit
 * @param committed transactions of this node's clients that committed a change since it started
 * @param aborted those that were aborted since it started, by {@code AbortReason.label()}
 * @param order the queue and the log of the order
 * @param heapUsedBytes Java heap in use
 * @param uptimeSeconds since the process started
 * @param secondaries copies of the database within the node; null if it cannot have any, as with PostgreSQL, or is not
 *            open yet
 * @param lacks tables that are kept on other nodes only, by name; a node of an earlier version does not say, and lacks none
 */
public record NodeStatus(int node, String name, String cluster, State state, @Nullable String reason, String protocol,
        String version, String database, String sql, Positions positions, @Nullable Integer leader, boolean majority,
        List<Member> members, int sessions, int inFlight, long committed, Map<String, Long> aborted, OrderStatus order,
        long heapUsedBytes, long uptimeSeconds, @Nullable Secondaries secondaries,
        @JsonSetter(nulls = Nulls.AS_EMPTY) List<String> lacks) {

    public NodeStatus {
        members = List.copyOf(members);
        aborted = Map.copyOf(aborted);
        lacks = List.copyOf(lacks);
        if (state == State.READY && reason != null) {
            throw new IllegalArgumentException("a ready node gives no reason: " + reason);
        }
    }

    /** What a node is doing. Legal transitions go downwards, except that READY and ISOLATED alternate. */
    public enum State {
        /** Starts its database and joins the order. */
        STARTING,
        /** Applies what was ordered while it was away. */
        RECOVERING,
        /** Takes reads and writes. */
        READY,
        /**
         * Is without a majority, waits for the others to decide about a position, or has a full disk: takes reads only. Or its database hangs.
         */
        ISOLATED,
        /** Holds what most nodes cannot make: takes part in the order and serves nobody. */
        EXCLUDED,
        /** Lets go of its clients, then ends. */
        STOPPING,
        /** Met something that it cannot go on from; the reason says what. */
        FAILED
    }

    /**
     * Places in the total order; 0 stands for none.
     *
     * @param known highest position known to be ordered
     * @param delivered highest position told to the protocol
     * @param applied highest position visible in the database
     * @param durable highest position that would survive a crash of the database
     */
    public record Positions(long known, long delivered, long applied, long durable) {
        /** Positions that are ordered but not visible here yet. */
        @JsonProperty(access = JsonProperty.Access.READ_ONLY)
        public long lag() {
            return Math.max(0, known - applied);
        }
    }

    /**
     * One node of the cluster, as this one sees it.
     *
     * @param id its id
     * @param name its name
     * @param http where its status can be asked, or null if the configuration does not say
     * @param reachable whether it is believed alive
     */
    public record Member(int id, String name, @Nullable String http, boolean reachable) {}

    /**
     * The order at this node.
     *
     * @param queuedBytes submitted here and not delivered back yet
     * @param logBytes its log on disk
     * @param firstRetained lowest position that the log still holds
     * @param givenUp members for which the log is not kept any more, since they have been away for too long
     * @param refused connections and datagrams between nodes that were dropped, since it was opened
     * @param provenUntil when the certificate ends with which the node proves who it is, in seconds since 1970; null if it
     *            proves nothing
     */
    public record OrderStatus(long queuedBytes, long logBytes, long firstRetained, List<Integer> givenUp,
            long refused, @Nullable Long provenUntil) {
        public OrderStatus {
            givenUp = List.copyOf(givenUp);
        }
    }

    /**
     * A position of the order that some node could not apply.
     *
     * @param position in the order
     * @param transaction whose effects they are
     * @param everywhere whether each node executes it by itself; if not, its own node has, and the others have its changes
     * @param sqlState of the error of the first node that said so
     * @param message likewise; it may name rows
     * @param votes by node's id: {@code made}, {@code refused}, or {@code trouble} if its database is in trouble and it waits; who
     *            has said nothing is not among them
     * @param verdict {@code OPEN}, {@code HOLDS} or {@code SKIPPED}
     */
    public record Position(long position, String transaction, boolean everywhere, String sqlState, String message,
            Map<Integer, String> votes, String verdict) {
        public Position {
            votes = Map.copyOf(votes);
        }
    }

    /**
     * The members of the cluster.
     *
     * @param since position of the order; 0 for those with which it began
     * @param nodes ascending
     * @param removed ids that are never given again
     */
    public record Members(long since, List<Place> nodes, List<Integer> removed) {
        public Members {
            nodes = List.copyOf(nodes);
            removed = List.copyOf(removed);
        }
    }

    /**
     * The parameters of the protocol that change from one position of the order on, at all nodes.
     *
     * @param since that position; 0 for those with which the cluster began
     * @param values by name, as configurations have them; none under a protocol that has none of them
     */
    public record Parameters(long since, SortedMap<String, String> values) {
        public Parameters {
            values = Collections.unmodifiableSortedMap(new TreeMap<>(values));
        }
    }

    /**
     * A table that some nodes lack.
     *
     * @param name as people read it
     * @param nodes that keep it, ascending
     * @param made whether the databases are known to have done it
     * @param since position of the order at which it was placed last
     */
    public record PlacedTable(String name, List<Integer> nodes, boolean made, long since) {
        public PlacedTable {
            nodes = List.copyOf(nodes);
        }
    }

    /**
     * A member.
     *
     * @param id its id
     * @param order where the others reach it
     * @param catchesUp whether it is new, and decides nothing yet
     */
    public record Place(int id, String order, boolean catchesUp) {}

    /**
     * The secondaries of a node's database, which take read-only transactions off it.
     *
     * @param position that the primary shows
     * @param secondaries positions that the secondaries show which can be read from
     * @param filling how many are being filled
     * @param readsAtSecondaries read-only transactions that ran at one, since the database was opened
     * @param readsAtPrimary those that found none new enough, or none at all
     * @param dropped secondaries that could not follow and were given up, since the database was opened
     * @param lastFailure why the last of these was; null if none was
     */
    public record Secondaries(long position, List<Long> secondaries, int filling, long readsAtSecondaries,
            long readsAtPrimary, long dropped, @Nullable String lastFailure) {
        public Secondaries {
            secondaries = List.copyOf(secondaries);
        }

        /** How many there are, for people, such as {@code 1 (1 dropped)}. */
        public String inWords() {
            List<String> besides = new ArrayList<>();
            if (filling > 0) {
                besides.add(filling + " being filled");
            }
            if (dropped > 0) {
                besides.add(dropped + " dropped");
            }
            return secondaries.size() + (besides.isEmpty() ? "" : " (" + String.join(", ", besides) + ")");
        }
    }
}
