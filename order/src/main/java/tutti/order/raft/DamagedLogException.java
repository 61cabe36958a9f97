package tutti.order.raft;

import java.io.IOException;

/** What was once safely on disk cannot be read back. The node must not go on with it. */
public final class DamagedLogException extends IOException {
    private static final long serialVersionUID = 1;

    /** Says which file is damaged, where and how. */
    DamagedLogException(String what) {
        super(what
                + ". The data in this directory cannot be trusted any more: remove it and give the node a fresh copy "
                + "of the database from a live node");
    }
}
