package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.TransactionId;
import tutti.node.Transactions;
import tutti.pgwire.Backend;

/**
 * Tells a client that wants to know the name of its next transaction, and the position that is visible to it. The name of a
 * transaction that has ended is never taken for the next one's, because the new one is told before the end is; so whatever the client
 * sends when it has heard of an end is known under the name that it has. On the session's event loop.
 */
final class ReportedParameters {
    private final Transactions node;
    private final ClientStream client;
    private final boolean wanted;
    private @Nullable TransactionId name;
    /** A transaction has begun under the name, whose end the client has not been told. */
    private boolean taken;
    private long reported = -1;
    private boolean over;

    /** Reports if the client's start-up parameters ask for it. */
    ReportedParameters(Transactions node, ClientStream client, Map<String, String> parameters) {
        this.node = node;
        this.client = client;
        this.wanted = parameters.getOrDefault("options", "").contains("tutti.report=on");
    }

    /**
     * Tells what has changed.
     *
     * @param transactionOpen whether the client's transaction goes on, perhaps by being run again: it keeps its name
     */
    void report(boolean transactionOpen) {
        if (!wanted || over || client.gone()) {
            return;
        }
        ByteBuf out = client.buffer();
        if (taken && !transactionOpen) {
            drop();
        }
        if (name == null && !transactionOpen) {
            name = node.reserve();
            if (name != null) {
                Backend.parameterStatus(out, "tutti.transaction", node.names().of(name));
            }
        }
        long position = node.visiblePosition();
        if (position != reported) {
            reported = position;
            Backend.parameterStatus(out, "tutti.position", Long.toString(position));
        }
        client.writeAside(out);
    }

    /** The name of the transaction that begins now; null if the client has been told none. */
    @Nullable
    TransactionId takeName() {
        if (taken) {
            return null;
        }
        taken = name != null;
        return name;
    }

    /** The name under which the client's transaction has begun; null if the client has been told none. */
    @Nullable
    TransactionId takenName() {
        return taken ? name : null;
    }

    /** The session is over: nothing begins under the name any more. */
    void over() {
        over = true;
        drop();
    }

    private void drop() {
        TransactionId told = name;
        name = null;
        taken = false;
        if (told != null) {
            node.release(told);
        }
    }
}
