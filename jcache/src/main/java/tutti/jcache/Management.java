package tutti.jcache;

import java.lang.management.ManagementFactory;
import javax.cache.CacheException;
import javax.cache.configuration.CompleteConfiguration;
import javax.cache.management.CacheMXBean;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/** A cache's beans for JMX, by the names that the specification says. */
final class Management {
    private Management() {}

    /** Shows a bean, or shows it no more. */
    static void show(GridCache<?, ?> cache, String type, Object bean, boolean shown) {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        try {
            ObjectName name = new ObjectName("javax.cache:type=" + type + ",CacheManager="
                    + safe(cache.getCacheManager().getURI().toString()) + ",Cache=" + safe(cache.getName()));
            if (server.isRegistered(name)) {
                server.unregisterMBean(name);
            }
            if (shown) {
                server.registerMBean(bean, name);
            }
        } catch (JMException wrong) {
            throw new CacheException("bean " + type + " of cache '" + cache.getName() + "': " + wrong, wrong);
        }
    }

    private static String safe(String part) {
        return part.replaceAll("[,:=\n]", ".");
    }

    /** What a cache was told to be. */
    record Shown(CompleteConfiguration<?, ?> configuration) implements CacheMXBean {
        @Override
        public String getKeyType() {
            return configuration.getKeyType().getName();
        }

        @Override
        public String getValueType() {
            return configuration.getValueType().getName();
        }

        @Override
        public boolean isReadThrough() {
            return configuration.isReadThrough();
        }

        @Override
        public boolean isWriteThrough() {
            return configuration.isWriteThrough();
        }

        @Override
        public boolean isStoreByValue() {
            return configuration.isStoreByValue();
        }

        @Override
        public boolean isStatisticsEnabled() {
            return configuration.isStatisticsEnabled();
        }

        @Override
        public boolean isManagementEnabled() {
            return configuration.isManagementEnabled();
        }
    }
}
