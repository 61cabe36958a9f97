package tutti.bench;

import jakarta.transaction.NotSupportedException;
import jakarta.transaction.RollbackException;
import jakarta.transaction.Status;
import jakarta.transaction.SystemException;
import jakarta.transaction.TransactionManager;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.infinispan.Cache;
import org.infinispan.commons.CacheException;
import org.infinispan.configuration.cache.CacheMode;
import org.infinispan.configuration.cache.ConfigurationBuilder;
import org.infinispan.configuration.cache.IsolationLevel;
import org.infinispan.configuration.global.GlobalConfigurationBuilder;
import org.infinispan.factories.GlobalComponentRegistry;
import org.infinispan.manager.DefaultCacheManager;
import org.infinispan.partitionhandling.PartitionHandling;
import org.infinispan.remoting.transport.Transport;
import org.infinispan.remoting.transport.jgroups.JGroupsTransport;
import org.infinispan.transaction.LockingMode;
import org.infinispan.transaction.TransactionMode;
import org.infinispan.transaction.WriteSkewException;
import org.infinispan.transaction.lookup.EmbeddedTransactionManagerLookup;
import org.infinispan.commons.TimeoutException;
import org.jgroups.protocols.TP;
import org.jspecify.annotations.Nullable;
import tutti.grid.GridException;
import tutti.grid.GridException.Reason;

/**
 * Nodes of Infinispan, each with its own JGroups stack over loopback (TCP, {@code infinispan-jgroups.xml}): distributed, synchronous, optimistic
 * transactions, {@code DENY_READ_WRITES}. Keys and values are the bytes that our grid keeps, keys as text of them since arrays are no
 * keys here.
 */
final class InfinispanNodes implements GridSystem {
    private static final AtomicInteger CLUSTERS = new AtomicInteger();
    private static final String STACK = "tutti/bench/infinispan-jgroups.xml";
    private static final int CAUSES_MAX = 10;

    private final List<DefaultCacheManager> managers = new ArrayList<>();
    private final List<Cache<String, byte[]>> caches = new ArrayList<>();

    private InfinispanNodes() {}

    /** Starts those of a measurement. */
    static InfinispanNodes start(GridMeasurement of) {
        InfinispanNodes started = new InfinispanNodes();
        try {
            String cluster = "bench " + CLUSTERS.incrementAndGet();
            for (int i = 0; i < of.nodes(); i++) {
                started.managers.add(manager(of, cluster, i));
            }
            started.managers.forEach(manager -> transport(manager).enableStats(true));
            started.managers.forEach(manager -> started.caches.add(manager.getCache(GridMeasurement.CACHE)));
        } catch (RuntimeException failed) {
            started.close();
            throw failed;
        }
        return started;
    }

    private static DefaultCacheManager manager(GridMeasurement of, String cluster, int node) {
        GlobalConfigurationBuilder global = GlobalConfigurationBuilder.defaultClusteredBuilder();
        global.transport().clusterName(cluster).nodeName("n" + node)
                .addProperty(JGroupsTransport.CONFIGURATION_FILE, STACK);
        global.metrics().gauges(false);
        global.jmx().disable();
        ConfigurationBuilder cache = new ConfigurationBuilder();
        cache.clustering().cacheMode(CacheMode.DIST_SYNC).remoteTimeout(of.lockTimeout().toMillis() + 30_000)
                .hash().numOwners(of.degree());
        cache.clustering().partitionHandling().whenSplit(PartitionHandling.DENY_READ_WRITES);
        cache.transaction().transactionMode(TransactionMode.TRANSACTIONAL).lockingMode(LockingMode.OPTIMISTIC)
                .transactionManagerLookup(new EmbeddedTransactionManagerLookup());
        cache.locking()
                .isolationLevel(of.level() == tutti.grid.IsolationLevel.READ_COMMITTED
                        ? IsolationLevel.READ_COMMITTED
                        : IsolationLevel.REPEATABLE_READ)
                .lockAcquisitionTimeout(of.lockTimeout().toMillis(), TimeUnit.MILLISECONDS);
        DefaultCacheManager manager = new DefaultCacheManager(global.build());
        manager.defineConfiguration(GridMeasurement.CACHE, cache.build());
        return manager;
    }

    @Override
    public int nodes() {
        return caches.size();
    }

    private static String text(Object key) {
        return Base64.getEncoder().encodeToString(GridScript.KEYS.write(key));
    }

    @Override
    public long run(int node, GridScript script) {
        Cache<String, byte[]> cache = caches.get(node);
        TransactionManager transactions = cache.getAdvancedCache().getTransactionManager();
        try {
            transactions.begin();
            try {
                for (var operation = script.next(); operation != null; operation = script.next()) {
                    String key = text(operation.key().get());
                    var written = operation.value();
                    if (written != null) {
                        cache.put(key, GridScript.VALUES.write(written.get()));
                    } else {
                        byte[] found = cache.get(key);
                        operation.reader().accept(found == null ? null : GridScript.VALUES.read(found));
                    }
                }
                long begin = System.nanoTime();
                transactions.commit();
                return System.nanoTime() - begin;
            } finally {
                if (transactions.getStatus() != Status.STATUS_NO_TRANSACTION) {
                    transactions.rollback();
                }
            }
        } catch (RollbackException | jakarta.transaction.HeuristicMixedException
                | jakarta.transaction.HeuristicRollbackException | CacheException failed) {
            throw new GridException(reason(failed), String.valueOf(failed.getMessage()));
        } catch (NotSupportedException | SystemException broken) {
            throw new IllegalStateException(broken);
        }
    }

    /** What it calls what. Causes of a commit that fails are also told beside it. */
    private static Reason reason(Throwable failed) {
        List<Throwable> all = new ArrayList<>();
        for (@Nullable
        Throwable cause = failed; cause != null && all.size() < CAUSES_MAX; cause = cause.getCause()) {
            all.add(cause);
            for (Throwable beside : cause.getSuppressed()) {
                all.add(beside);
                if (beside.getCause() != null) {
                    all.add(beside.getCause());
                }
            }
        }
        if (all.stream().anyMatch(WriteSkewException.class::isInstance)) {
            return Reason.CONFLICT;
        }
        return all.stream().anyMatch(TimeoutException.class::isInstance) ? Reason.LOCK_TIMEOUT : Reason.TIMEOUT;
    }

    private static TP transport(DefaultCacheManager manager) {
        return ((JGroupsTransport) GlobalComponentRegistry.componentOf(manager, Transport.class)).getChannel()
                .getProtocolStack().getTransport();
    }

    @Override
    public long messages() {
        return managers.stream().mapToLong(manager -> transport(manager).getMessageStats().getNumMsgsSent()).sum();
    }

    /** The one that leads last. */
    @Override
    public void close() {
        managers.reversed().forEach(DefaultCacheManager::stop);
    }
}
