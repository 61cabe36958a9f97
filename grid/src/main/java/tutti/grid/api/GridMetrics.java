package tutti.grid.api;

import java.util.Locale;
import tutti.grid.GridConfig;
import tutti.grid.node.GridStatus;
import tutti.grid.view.Layout;

/** A node's figures in the text format of Prometheus. */
final class GridMetrics {
    private final StringBuilder text = new StringBuilder();
    private final String labels;

    private GridMetrics(GridConfig config) {
        labels = String.format(Locale.ROOT, "grid=\"%s\",node=\"%d\"",
                config.name().replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n"), config.self());
    }

    static String of(GridConfig config, GridStatus status) {
        GridMetrics all = new GridMetrics(config);
        all.head("transactions_total", "counter", "Transactions that ran here and have ended, by how.");
        all.sample("transactions_total", ",outcome=\"committed\"", status.committed());
        all.sample("transactions_total", ",outcome=\"conflict\"", status.conflicts());
        all.sample("transactions_total", ",outcome=\"deadlock\"", status.deadlocks());
        all.sample("transactions_total", ",outcome=\"lock_timeout\"", status.lockTimeouts());
        all.head("reads_total", "counter", "Reads of transactions here, by who owns the key.");
        all.sample("reads_total", ",owner=\"local\"", status.localReads());
        all.sample("reads_total", ",owner=\"remote\"", status.remoteReads());
        all.one("reads_waited_total", "counter", "Reads at this node that waited for a transaction on its way.",
                status.waitingReads());
        GridStatus.L1 l1 = status.l1();
        all.head("l1_reads_total", "counter",
                "Reads of entries of other nodes that may be kept here, by whether they were.");
        all.sample("l1_reads_total", ",outcome=\"hit\"", l1.hits());
        all.sample("l1_reads_total", ",outcome=\"miss\"", l1.misses());
        all.one("l1_invalidations_total", "counter",
                "Kept entries of other nodes that were dropped since they were written.",
                l1.invalidations());
        all.one("l1_entries", "gauge", "Entries of other nodes that are kept here.", l1.entries());
        all.one("l1_bytes", "gauge", "Bytes that they take, about.", l1.bytes());
        all.one("messages_total", "counter", "Messages that this node has sent.", status.messages());
        all.one("committing", "gauge", "Transactions that wait for the outcome of their commit.",
                status.committing());
        all.one("keys", "gauge", "Keys that this node has.", status.keys());
        all.one("version_bytes", "gauge", "Bytes of the keys and values of all versions that this node has.",
                status.bytes());
        all.one("full", "gauge", "1 if this node stores as much as it may.", status.full() ? 1 : 0);
        all.one("expired_total", "counter", "Entries that this node has dropped since they had expired.",
                status.expired());
        all.one("unsent_bytes", "gauge", "Bytes that wait to be received by the node for which most do.",
                status.unsentBytes());
        all.one("kept", "gauge", "Transactions and messages that this node still remembers.", status.kept());
        all.one("members", "gauge", "Nodes that take part, as far as this one knows.", status.members().size());
        all.one("joining", "gauge", "Nodes that copy what their group has, and take no part yet.",
                status.joining().size());
        all.one("owners", "gauge", "Nodes on which keys lie.", status.layout().readers().size());
        all.one("moving", "gauge", "1 while keys are moved.",
                status.layout().phase() == Layout.Phase.STABLE ? 0 : 1);
        all.one("lost", "gauge", "1 if there may be keys all of whose owners have crashed.", status.lost() ? 1 : 0);
        all.one("view", "gauge", "The number of this node's view.", status.view());
        return all.text.toString();
    }

    private void head(String name, String type, String help) {
        text.append("# HELP tutti_grid_").append(name).append(' ').append(help).append("\n# TYPE tutti_grid_")
                .append(name).append(' ').append(type).append('\n');
    }

    private void sample(String name, String more, long value) {
        text.append("tutti_grid_").append(name).append('{').append(labels).append(more).append("} ").append(value)
                .append('\n');
    }

    private void one(String name, String type, String help, long value) {
        head(name, type, help);
        sample(name, "", value);
    }
}
