package tutti.jdbc;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Finds out whether nodes are still there whose answers are waited for. A process that has ended closes its connections; one that
 * stands still, or whose host or network is gone, leaves its clients waiting, and how long a statement takes says nothing.
 *
 * <p>
 * <b>How.</b> When an answer has been waited for a moment, the node is asked something that costs it nothing, on a connection of its own: whether
 * it speaks TLS, as every client asks before it says who it is. One that says nothing at all for the time of silence is given up, if
 * another node has answered the same meanwhile: then it is not this machine, or its network, that stands still. A node that answers is
 * asked again and again for as long as somebody waits.
 *
 * <p>
 * One thread for all connections of this virtual machine, that ends when nobody has waited for a while. Safe for use by several threads.
 */
final class SilentNodes {
    private static final Logger LOG = Logger.getLogger(SilentNodes.class.getPackageName());
    /** So long nobody is asked. */
    private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    /** A node that has answered is asked again after so long. */
    private static final long AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long TICK_MILLIS = 50;
    private static final long IDLE_NANOS_MAX = TimeUnit.SECONDS.toNanos(30);
    /** SSLRequest of the PostgreSQL protocol: its length, and its code. */
    private static final int[] QUESTION = {8, 80877103};

    private static final SilentNodes INSTANCE = new SilentNodes();

    /** Somebody waits for a node, until it is closed. */
    static final class Waiting implements AutoCloseable {
        private final Node node;
        private final List<Node> others;
        private final long silenceNanos;
        private final Runnable silent;
        private final long sinceNanos = System.nanoTime();

        private Waiting(Node node, List<Node> others, long silenceNanos, Runnable silent) {
            this.node = node;
            this.others = others;
            this.silenceNanos = silenceNanos;
            this.silent = silent;
        }

        @Override
        public void close() {
            INSTANCE.waiting.remove(this);
        }
    }

    /** A node that has been asked. */
    private static final class Question {
        private final long begunNanos = System.nanoTime();
        private @Nullable SocketChannel channel;
        /** Nobody takes connections there. */
        private boolean failed;

        boolean unanswered(long now, long forNanos) {
            return failed || now - begunNanos > forNanos;
        }

        void close() {
            SocketChannel open = channel;
            if (open != null) {
                try {
                    open.close();
                } catch (IOException e) {
                    LOG.log(Level.FINEST, "a question to a node", e);
                }
            }
        }
    }

    private final Set<Waiting> waiting = ConcurrentHashMap.newKeySet();
    private volatile boolean runs;

    /* Of the thread. */
    private final Map<Node, Question> asked = new HashMap<>();
    private final Map<Node, Long> heardNanos = new HashMap<>();

    private SilentNodes() {}

    /**
     * Somebody begins to wait for a node.
     *
     * @param others nodes of which one must be there for this one to be given up
     * @param silenceNanos how long it may say nothing; 0 for ever
     * @param silent called once, on a thread of its own, if it says nothing for longer
     */
    static Waiting begin(Node node, List<Node> others, long silenceNanos, Runnable silent) {
        Waiting begun = new Waiting(node, others, silenceNanos, silent);
        if (silenceNanos > 0 && others.size() > (others.contains(node) ? 1 : 0)) {
            INSTANCE.waiting.add(begun);
            INSTANCE.awake();
        }
        return begun;
    }

    private void awake() {
        if (runs) {
            return;
        }
        synchronized (this) {
            if (!runs) {
                runs = true;
                start("tutti-silent-nodes", this::run);
            }
        }
    }

    private static void start(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        boolean over = false;
        while (!over) {
            try (Selector selector = Selector.open()) {
                watch(selector);
                over = true;
            } catch (IOException | RuntimeException e) {
                LOG.log(Level.WARNING, "nodes that stand still are not noticed for the moment", e);
                LockSupport.parkNanos(AGAIN_NANOS);
                over = waiting.isEmpty() && ends();
            } finally {
                asked.values().forEach(Question::close);
                asked.clear();
            }
        }
    }

    /** Returns when nobody has waited for a while. */
    private void watch(Selector selector) throws IOException {
        long lastNanos = System.nanoTime();
        while (true) {
            selector.select(TICK_MILLIS);
            answered(selector);
            long now = System.nanoTime();
            if (!waiting.isEmpty()) {
                lastNanos = now;
            } else if (now - lastNanos > IDLE_NANOS_MAX && ends()) {
                return;
            }
            waiting.forEach(each -> look(each, now, selector));
            forget(now);
        }
    }

    private synchronized boolean ends() {
        runs = !waiting.isEmpty();
        return !runs;
    }

    private void look(Waiting each, long now, Selector selector) {
        if (now - each.sinceNanos < PATIENCE_NANOS) {
            return;
        }
        Question question = asked.get(each.node);
        if (question == null) {
            ask(each.node, now, selector);
            return;
        }
        if (question.unanswered(now, each.silenceNanos / 2)) {
            each.others.stream().filter(other -> !other.equals(each.node) && !asked.containsKey(other))
                    .forEach(other -> ask(other, now, selector));
        }
        if (question.unanswered(now, each.silenceNanos) && each.others.stream()
                .anyMatch(other -> !other.equals(each.node) && heard(other) - question.begunNanos > 0)
                && waiting.remove(each)) {
            LOG.log(Level.FINE, "node {0} says nothing, others do", each.node);
            start("tutti-silent-node", each.silent);
        }
    }

    private long heard(Node node) {
        return heardNanos.getOrDefault(node, Long.MIN_VALUE / 2 + System.nanoTime() / 2);
    }

    private void ask(Node node, long now, Selector selector) {
        Long heard = heardNanos.get(node);
        if (heard != null && now - heard < AGAIN_NANOS) {
            return;
        }
        Question question = new Question();
        asked.put(node, question);
        try {
            SocketChannel channel = SocketChannel.open();
            question.channel = channel;
            channel.configureBlocking(false);
            boolean connected = channel.connect(new InetSocketAddress(node.address().host(), node.address().port()));
            channel.register(selector, SelectionKey.OP_CONNECT, node);
            if (connected) {
                connected(channel, selector);
            }
        } catch (IOException | RuntimeException e) {
            // A name that is not known, too.
            question.failed = true;
        }
    }

    private static void connected(SocketChannel channel, Selector selector) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(QUESTION.length * Integer.BYTES);
        for (int word : QUESTION) {
            bytes.putInt(word);
        }
        // So few bytes fit.
        if (channel.write(bytes.flip()) < QUESTION.length * Integer.BYTES) {
            throw new IOException("a new connection takes no bytes");
        }
        channel.keyFor(selector).interestOps(SelectionKey.OP_READ);
    }

    private void answered(Selector selector) {
        for (Iterator<SelectionKey> keys = selector.selectedKeys().iterator(); keys.hasNext();) {
            SelectionKey key = keys.next();
            keys.remove();
            Node node = (Node) key.attachment();
            Question question = asked.get(node);
            if (question == null || !key.channel().equals(question.channel)) {
                key.cancel();
                continue;
            }
            SocketChannel channel = (SocketChannel) key.channel();
            try {
                if (key.isConnectable()) {
                    channel.finishConnect();
                    connected(channel, selector);
                } else if (channel.read(ByteBuffer.allocate(1)) != 0) {
                    // Whatever it says, or that it hangs up: it is there.
                    heardNanos.put(node, System.nanoTime());
                    asked.remove(node);
                    question.close();
                }
            } catch (IOException e) {
                question.failed = true;
                question.close();
            }
        }
    }

    /** Ends questions that nobody needs answered. */
    private void forget(long now) {
        if (waiting.isEmpty() || asked.values().stream().anyMatch(each -> each.unanswered(now, IDLE_NANOS_MAX))) {
            asked.values().forEach(Question::close);
            asked.clear();
        }
        if (waiting.isEmpty()) {
            heardNanos.clear();
        }
    }
}
