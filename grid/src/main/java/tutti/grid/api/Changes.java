package tutti.grid.api;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.TransactionId;
import tutti.grid.commit.CommitRequest;
import tutti.grid.node.GridNode;
import tutti.grid.store.Version;

/** Hears what a node applies, on its loop, and hands it on to who listens. */
final class Changes implements GridNode.Observer {
    private final List<Subscription> subscriptions = new CopyOnWriteArrayList<>();
    private volatile @Nullable GridNode node;

    /** Of which node; before anybody listens. */
    void of(GridNode which) {
        node = which;
    }

    <K, V> Subscription listen(int cache, Serializer<K> keys, Serializer<V> values, Listener<K, V> listener) {
        Subscription started = Subscription.start(cache, keys, values, listener, subscriptions::remove);
        subscriptions.add(started);
        return started;
    }

    @Override
    public void applied(TransactionId id, long stamp, CommitRequest request) {
        GridNode from = node;
        if (from == null || subscriptions.isEmpty()) {
            return;
        }
        for (CommitRequest.Write write : request.writes()) {
            for (Subscription subscription : subscriptions) {
                if (subscription.cache() != write.key().cache() || !from.owners().isOwner(from.config().self(),
                        write.key())) {
                    continue;
                }
                Version newest = from.newest(write.key());
                // Outcomes can become known in another order than that of stamps: what is older by now was never the latest.
                if (newest.stamp() == stamp) {
                    from.told(stamp);
                    subscription.changed(write.key(), newest);
                }
            }
        }
    }

    void close() {
        subscriptions.forEach(Subscription::close);
    }
}
