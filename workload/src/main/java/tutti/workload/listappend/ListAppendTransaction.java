package tutti.workload.listappend;

import java.util.List;
import tutti.workload.client.ClientOutcome;

/**
 * A list-append transaction as its client saw it. Instants are nanoseconds of one clock, the same for all clients.
 *
 * @param session transactions of a session follow one another
 * @param node where it ran: index of the database
 * @param begunNanos before it was begun
 * @param endedNanos after the client knew how it ended; of no meaning if it never knew
 * @param outcome how it ended
 * @param last whether it reads after everything else had ended and the replicas had come to rest
 * @param operations in order; of a transaction that did not commit, those that it came to
 */
public record ListAppendTransaction(int session, int node, long begunNanos, long endedNanos, ClientOutcome outcome,
        boolean last, List<ListAppendOperation> operations) {
    public ListAppendTransaction {
        operations = List.copyOf(operations);
    }
}
