package tutti.server;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import tutti.core.protocol.ChosenProtocol;
import tutti.runtime.Directory;
import tutti.runtime.DurableFiles;

/** The protocol, with its parameters, that a node's data was begun with, in a file beside it: a cluster keeps these for good. */
final class FirstProtocol {
    private static final String FILE = "protocol";

    private FirstProtocol() {}

    /** Forgets it: the node's cluster runs another one, so nothing is there yet that was begun with it. */
    static void forget(Directory data) throws IOException {
        data.delete(FILE);
        data.sync();
    }

    /**
     * Notes it, or compares it.
     *
     * @param data where the node keeps what it has
     * @throws IOException if it ran another one, or with other parameters that all nodes must have the same: then the others never hear of it
     */
    static void check(Directory data, ChosenProtocol now) throws IOException {
        if (!data.exists(FILE)) {
            DurableFiles.write(data, FILE, now.toString().getBytes(StandardCharsets.UTF_8));
            return;
        }
        ByteBuffer kept = DurableFiles.read(data, FILE);
        String first = StandardCharsets.UTF_8.decode(kept).toString();
        if (!now.fits(first)) {
            throw new IOException("this node's data is of protocol " + first + ", and its configuration says " + now
                    + ": give it back the `protocol` and `protocol-parameters` with which the cluster began, which it keeps;"
                    + " what may change while it runs is changed by `tutti parameters`");
        }
    }
}
