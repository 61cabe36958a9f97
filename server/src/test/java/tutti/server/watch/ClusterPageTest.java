package tutti.server.watch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.node.metrics.NodeMetrics;
import tutti.server.http.AdminServer;
import tutti.server.http.NodeStatus;
import tutti.server.http.Operations;

/** The page of a node as a person sees and uses it, in a real browser: two nodes tell of themselves, a third is silent. */
@Tag("long")
@Timeout(120)
class ClusterPageTest {
    private static final long START = 1_767_225_600_000L;
    private static final String HOSTILE = "c<img src=x onerror=alert(1)>";

    @TempDir
    private Path directory;

    private final List<Node> nodes = new ArrayList<>();

    /** A node whose status is as it is told to be. */
    private static final class Node implements AutoCloseable {
        private final AtomicReference<NodeStatus> status = new AtomicReference<>();
        private final Latencies latencies = new Latencies();
        private final Activity activity = new Activity(() -> START);
        private final History history = new History(status::get, latencies);
        private final ClusterWatch watch = new ClusterWatch(history, activity);
        private final AdminServer server;

        Node() throws IOException {
            server = AdminServer.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), status::get, _ -> {},
                    Operations.NONE, watch, "sesame");
        }

        @Override
        public void close() {
            server.close();
            watch.close();
        }
    }

    private NodeStatus status(int id, long committed, boolean thirdIsThere, List<String> addresses) {
        List<NodeStatus.Member> members = List.of(new NodeStatus.Member(0, "a", addresses.get(0), true),
                new NodeStatus.Member(1, "b", addresses.get(1), true),
                new NodeStatus.Member(2, HOSTILE, addresses.get(2), thirdIsThere));
        return new NodeStatus(id, id == 0 ? "a" : "b", "shop", NodeStatus.State.READY, null, "si", "0.1",
                "PostgreSQL 18.6",
                "127.0.0.1:" + (5432 + id), new NodeStatus.Positions(1000, 1000, 990, 980), 1, true, members, 3, 1,
                committed,
                Map.of("certification", 4L), new NodeStatus.OrderStatus(0, 1 << 20, 1, List.of(), 0, null), 1 << 26,
                100, null, List.of());
    }

    @AfterEach
    void stop() {
        nodes.forEach(Node::close);
    }

    @Test
    void aPersonSeesTheClusterAndUsesItByKeys() throws Exception {
        nodes.add(new Node());
        nodes.add(new Node());
        int nobody;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            nobody = free.getLocalPort();
        }
        List<String> addresses = List.of("127.0.0.1:" + nodes.get(0).server.port(),
                "127.0.0.1:" + nodes.get(1).server.port(),
                "127.0.0.1:" + nobody);
        for (int id = 0; id < 2; id++) {
            Node node = nodes.get(id);
            for (int second = 0; second < 10; second++) {
                node.status.set(status(id, second * 250L * (id + 1), second < 5, addresses));
                node.latencies.add(4_000_000);
                node.history.look(START + second * 1000L);
            }
        }
        nodes.getFirst().activity
                .lost(new NodeMetrics.Loss("40001", "lost", "Lost table public.acc, key (id) = (7)", "commit", true));
        nodes.getFirst().activity.slow(70_000_000, "select '<b>'");
        Optional<Browser> found = Browser.start(directory.resolve("profile"));
        Assumptions.assumeTrue(found.isPresent(), "there is no Chromium");
        try (Browser browser = found.get()) {
            browser.open("http://" + addresses.getFirst() + "/");
            browser.until("document.querySelectorAll('#nodes tbody tr').length === 3");
            assertEquals("shop", browser.value("document.getElementById('title').textContent"));
            assertEquals("2 of 3 nodes ready, 750 commits/s, protocol si",
                    browser.value("document.getElementById('summary').textContent"));
            assertEquals("a|ready|250|0|4 ms|4 ms|10|3", browser.value(row(0)));
            assertTrue(browser.value(row(1)).startsWith("b leads|ready|500|"), browser.value(row(1)));
            assertEquals(HOSTILE + "|silent|its HTTP does not answer", browser.value(row(2)));
            assertEquals("0", browser.value("document.images.length"), "what comes is text");
            assertTrue(browser.value("document.getElementById('events').innerText")
                    .contains("a: " + HOSTILE + " is not there"));
            assertEquals("cut: a–" + HOSTILE + ", b–" + HOSTILE,
                    browser.value("document.querySelector('#topology svg').getAttribute('aria-label')"));
            assertEquals("certification|8",
                    browser.value("[...document.querySelectorAll('#aborts td')].map(c => c.innerText).join('|')"));
            assertEquals("2", browser.value("document.querySelectorAll('#commits path').length"));
            assertEquals("true", browser.value(
                    "performance.getEntriesByType('resource').every(e => e.name.startsWith(location.origin + '/'))"));

            colours(browser);
            token(browser);
            keys(browser, addresses);
        }
    }

    private static String row(int index) {
        return "[...document.querySelectorAll('#nodes tbody tr')[" + index
                + "].cells].slice(0, 8).map(c => c.innerText).join('|')";
    }

    private static void colours(Browser browser) throws Exception {
        String ground = "getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color";
        browser.dark(false);
        assertEquals("rgb(255, 255, 255)rgb(22, 25, 29)", browser.value(ground));
        browser.dark(true);
        assertEquals("rgb(21, 24, 28)rgb(231, 234, 238)", browser.value(ground));
    }

    private static void token(Browser browser) throws Exception {
        assertFalse(browser.value("document.body.innerText").contains("public.acc"), "rows take the token");
        browser.press("t", "t");
        browser.until("document.activeElement.id === 'token'");
        browser.call("Input.insertText", Map.of("text", "guess"));
        browser.press("Enter", "\r");
        browser.until("document.getElementById('refused').textContent.includes('not the token')");
        browser.value("document.getElementById('token').focus()");
        browser.call("Input.insertText", Map.of("text", "sesame"));
        browser.press("Enter", "\r");
        browser.until("document.getElementById('losses').innerText.includes('public.acc, key (id) = (7)')");
        assertTrue(browser.value("document.getElementById('statements').innerText").contains("70 ms\t1\tselect '<b>'"));
    }

    private void keys(Browser browser, List<String> addresses) throws Exception {
        browser.value("document.querySelector('#nodes tr[tabindex=\"0\"]').focus()");
        browser.press("ArrowDown", "");
        browser.until("document.activeElement.dataset.node === '1'");
        assertTrue(browser.value("document.getElementById('detail').innerText").startsWith("b: Tutti 0.1, "));
        browser.press("p", "p");
        browser.until("document.getElementById('pause').getAttribute('aria-pressed') === 'true'");
        nodes.get(1).status.set(status(1, 9999, true, addresses));
        nodes.get(1).history.look(START + 11_000);
        assertTrue(browser.value(row(1)).startsWith("b leads|ready|500|"), "it stands still");
        browser.press("p", "p");
        browser.until("!document.querySelectorAll('#nodes tbody tr')[1].innerText.includes('500')");
        assertEquals("1", browser.value("document.activeElement.dataset.node"), "the focus stays");
        browser.press("Enter", "\r");
        int tries = 0;
        while (!at(browser, addresses.get(1))) {
            assertTrue(++tries < 1000, "Enter opens the page of the other node");
        }
    }

    private static boolean at(Browser browser, String address) throws Exception {
        try {
            return browser.value("location.host").equals(address);
        } catch (IOException between) {
            return between.getMessage() == null;
        }
    }
}
