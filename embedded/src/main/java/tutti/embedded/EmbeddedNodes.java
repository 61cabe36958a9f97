package tutti.embedded;

import java.sql.Connection;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import tutti.jdbc.spi.EmbeddedProvider;

/**
 * The nodes of this virtual machine. The first connection to one starts it, and with it all that have the same name in
 * memory; it runs until {@link #stop}, or until the virtual machine ends. Safe for use by several threads.
 */
public final class EmbeddedNodes implements EmbeddedProvider {
    private static final Map<String, EmbeddedNode> RUNNING = new HashMap<>();
    private static boolean hooked;

    /** For the service loader. */
    public EmbeddedNodes() {}

    @Override
    public Connection connect(String url, Properties properties) throws SQLException {
        EmbeddedUrl parsed = EmbeddedUrl.parse(url, properties);
        int question = url.indexOf('?');
        String text = question < 0 ? url : url.substring(0, question);
        if (parsed.name() != null) {
            // one of them alone is no majority
            for (int node = 0; node < parsed.nodes(); node++) {
                running(parsed.of(node), text);
            }
        }
        return running(parsed, text).connect(parsed.session());
    }

    @Override
    public DriverPropertyInfo[] propertyInfo(String url, Properties properties) throws SQLException {
        EmbeddedUrl.parse(url, properties);
        return EmbeddedUrl.info(properties);
    }

    private static synchronized EmbeddedNode running(EmbeddedUrl url, String text) throws SQLException {
        EmbeddedNode node = RUNNING.get(url.key());
        if (node == null) {
            node = EmbeddedNode.start(url, text);
            RUNNING.put(url.key(), node);
            if (!hooked) {
                hooked = true;
                Runtime.getRuntime().addShutdownHook(new Thread(EmbeddedNodes::stopAll, "tutti-embedded-stop"));
            }
        } else {
            url.requireSame(node.url());
        }
        return node;
    }

    /**
     * Stops the node of a URL, if it runs. Its connections are of no use afterwards; what is in memory is lost unless
     * other nodes have it.
     */
    public static void stop(String url) throws SQLException {
        EmbeddedUrl parsed = EmbeddedUrl.parse(url, new Properties());
        EmbeddedNode node;
        synchronized (EmbeddedNodes.class) {
            node = RUNNING.remove(parsed.key());
        }
        if (node != null) {
            node.close();
        }
    }

    private static void stopAll() {
        List<EmbeddedNode> all;
        synchronized (EmbeddedNodes.class) {
            all = List.copyOf(RUNNING.values());
            RUNNING.clear();
        }
        all.forEach(EmbeddedNode::close);
    }
}
