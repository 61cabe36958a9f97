package tutti.server.http;

/** What a node's page shows, as JSON; from any thread. */
public interface Watch {
    /** What the node has done lately, without any row. Does not block. */
    String history();

    /** What all nodes have, as far as they say. May block for a second. */
    String cluster();

    /** Its lost transactions and slowest statements, which may name rows. Does not block. */
    String activity();

    /** Of a node that is not watched. */
    Watch NONE = new Watch() {
        @Override
        public String history() {
            return "{}";
        }

        @Override
        public String cluster() {
            return "{}";
        }

        @Override
        public String activity() {
            return "{}";
        }
    };
}
