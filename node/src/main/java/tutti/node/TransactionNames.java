package tutti.node;

import tutti.core.txn.TransactionId;

/**
 * The names by which clients know transactions, such as {@code 1:5.17@26eb343a}: behind the sign, of which cluster it is, for other clusters
 * have transactions {@code 1:5.17}, too, and must not be believed when they tell what became of theirs.
 *
 * @param cluster the first eight characters of the cluster's id; empty where it has none
 */
public record TransactionNames(String cluster) {
    /** Of a cluster that has no id. */
    public static final TransactionNames PLAIN = new TransactionNames("");

    /** SQLSTATE with which a client hears that nobody can tell it what has become of its commit. */
    public static final String IN_DOUBT = "08007";

    private static final char SIGN = '@';
    private static final int LENGTH = 8;

    /** @param id of the cluster, empty if it has none */
    public static TransactionNames of(String id) {
        return new TransactionNames(id.substring(0, Math.min(LENGTH, id.length())));
    }

    /** The name of a transaction. */
    public String of(TransactionId transaction) {
        return cluster.isEmpty() ? transaction.toString() : transaction.toString() + SIGN + cluster;
    }

    /** What a client is told whose commit cannot be decided, since its node has reached no majority for long. */
    public String inDoubt(TransactionId transaction) {
        return "whether transaction " + of(transaction)
                + " has been committed is in doubt: this node cannot reach a majority of the cluster";
    }

    /** What it can do to find out. */
    public String howToAsk(TransactionId transaction) {
        return "Ask a node that reaches a majority, before the transaction is run again: SELECT tutti_outcome('"
                + of(transaction) + "').";
    }

    /**
     * The transaction of a name, with its cluster or without.
     *
     * @throws IllegalArgumentException if it is none, or of another cluster
     */
    public TransactionId read(String name) {
        int sign = name.indexOf(SIGN);
        String of = sign < 0 ? "" : name.substring(sign + 1);
        if (sign >= 0 && !cluster.isEmpty() && !of.equals(cluster)) {
            throw new IllegalArgumentException(
                    "\"" + name + "\" is a transaction of cluster " + of + ", and this is cluster "
                            + cluster + ": ask a node of that cluster");
        }
        try {
            return TransactionId.parse(sign < 0 ? name : name.substring(0, sign));
        } catch (IllegalArgumentException notOne) {
            throw new IllegalArgumentException("\"" + name + "\" names no transaction: names have the form 1:2.3, or"
                    + " 1:2.3@26eb343a with the cluster's id", notOne);
        }
    }
}
