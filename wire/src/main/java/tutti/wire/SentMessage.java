package tutti.wire;

/** A message that has been sent to the engine, by what is done with its answer. */
enum SentMessage {
    /** Of the client. */
    PARSE,
    /** Of the client. */
    BIND,
    /** Of the client: a Bind of a statement that tells its rows, with a format for the node's column. */
    BIND_IN_BAND,
    /** Of the client. */
    DESCRIBE,
    /** Of the client. */
    EXECUTE,
    /** Of the client. */
    CLOSE,
    /** Of the client. */
    SYNC,
    /** Of the client: a simple query. */
    QUERY,
    /** Of the client: a call of a function by its object id. */
    FUNCTION_CALL,
    /** Of the client: a Parse of a statement that tells its rows. */
    PARSE_IN_BAND,
    /** Of the client, but said again by the node, so that only its error is for the client: a Parse. */
    PARSE_AGAIN,
    /** The node's, so that its error is for the client: a Describe of a statement that is about to be parsed again. */
    DESCRIBE_AGAIN,
    /** Of the client: a Describe of a statement that tells its rows. */
    DESCRIBE_IN_BAND,
    /** Of the client: an Execute of a statement that tells its rows. */
    EXECUTE_IN_BAND,
    /** Of the client: the same of one that shows the client a part of them. */
    RETURNING_IN_BAND,
    /** Of the client: a simple query that tells its rows. */
    QUERY_IN_BAND,
    /** Of the client: an Execute of DEALLOCATE or DISCARD. */
    FORGETTING_EXECUTE,
    /** An Execute of the client's that makes a block of the transaction that the node has begun for its cycle. */
    BEGINNING_EXECUTE,
    /** A BEGIN of a simple query that makes a block of the transaction that the node has begun for the query. */
    BEGINNING_QUERY,
    /** Of the client: a simple query that is DEALLOCATE or DISCARD. */
    FORGETTING_QUERY,
    /** Of the client: an Execute that ends the transaction. */
    ENDING_EXECUTE,
    /** Of the client: an Execute that ends the transaction and begins another. */
    CHAINING_EXECUTE,
    /** Of the client: a simple query that ends the transaction and perhaps begins another. */
    ENDING_QUERY,
    /** The node's, made to fail so that the client hears an error of the node's in its place: a Parse. */
    REFUSED_PARSE,
    /** The node's, made to fail so that the client hears an error of the node's in its place: a simple query. */
    REFUSED_QUERY,
    /** The node's. */
    OWN_PARSE,
    /** The node's. */
    OWN_BIND,
    /** The node's. */
    OWN_CLOSE,
    /** The node's. */
    OWN_EXECUTE,
    /** The node's Execute of a BEGIN of the client's, who takes it for done. */
    OWN_BEGIN,
    /** The node's Execute of COMMIT. */
    OWN_COMMIT,
    /** The node's COMMIT by a simple query. */
    OWN_COMMIT_QUERY,
    /** The node's call of a function. */
    OWN_CALL,
    /** The node's call of the function that closes the capture and returns what was changed. */
    OWN_CLOSING,
    /** The same, sent when nothing is unanswered that could fail, so that its own ReadyForQuery is the end of what the node asks. */
    OWN_CLOSING_ALONE,
    /** The node's Execute that returns one row. */
    OWN_ROW,
    /** The node's. */
    OWN_SYNC,
    /** The node's messages up to a Sync, whose whole result matters. */
    OWN_COLLECTED;

    /** Whether its answer is not for the client. */
    boolean own() {
        return compareTo(REFUSED_PARSE) >= 0;
    }

    /** Whether the client hears an error of the node's in place of its answer. */
    boolean refused() {
        return this == REFUSED_PARSE || this == REFUSED_QUERY;
    }

    /** Whether it executes a statement of the client's, or several. */
    boolean executes() {
        return switch (this) {
            case EXECUTE, EXECUTE_IN_BAND, RETURNING_IN_BAND, FORGETTING_EXECUTE, BEGINNING_EXECUTE, ENDING_EXECUTE,
                    CHAINING_EXECUTE,
                    QUERY, QUERY_IN_BAND, BEGINNING_QUERY, FORGETTING_QUERY, ENDING_QUERY, FUNCTION_CALL ->
                true;
            default -> false;
        };
    }

    /** Whether it changes what a name stands for, or something else that has to be undone if the engine skips it. */
    boolean names() {
        return this == PARSE || this == PARSE_IN_BAND || this == PARSE_AGAIN || this == BIND || this == BIND_IN_BAND
                || this == CLOSE || this == EXECUTE_IN_BAND
                || this == FORGETTING_EXECUTE || this == FORGETTING_QUERY || this == BEGINNING_EXECUTE
                || this == BEGINNING_QUERY
                || this == ENDING_EXECUTE || this == CHAINING_EXECUTE;
    }

    /** Whether the last column of its result is the node's. */
    boolean inBand() {
        return this == DESCRIBE_IN_BAND || this == EXECUTE_IN_BAND || this == RETURNING_IN_BAND
                || this == QUERY_IN_BAND;
    }

    /** Whether it is a simple query or a function call, so that ReadyForQuery follows its answer whether it fails or not. */
    boolean query() {
        return this == QUERY || this == FUNCTION_CALL || this == QUERY_IN_BAND || this == FORGETTING_QUERY
                || this == ENDING_QUERY || this == BEGINNING_QUERY
                || this == OWN_COMMIT_QUERY
                || this == REFUSED_QUERY || this == OWN_CLOSING_ALONE || call();
    }

    /** Whether it is a function call of the node's, whose ReadyForQuery nobody waits for: other messages of the node's follow. */
    boolean call() {
        return this == OWN_CALL || this == OWN_CLOSING;
    }

    /** Whether it closes the capture. */
    boolean closes() {
        return this == OWN_CLOSING || this == OWN_CLOSING_ALONE;
    }

    /** Whether it commits the open transaction. */
    boolean commits() {
        return this == OWN_COMMIT || this == OWN_COMMIT_QUERY;
    }

    /** Whether the engine, which skips messages after an error, goes on with it. */
    boolean synchronizes() {
        return this == SYNC || this == OWN_SYNC || this == OWN_COLLECTED;
    }

    /** Whether its ReadyForQuery ends what the node itself has asked. */
    boolean endsOwn() {
        return this == OWN_SYNC || this == OWN_COMMIT_QUERY || this == OWN_COLLECTED
                || this == OWN_CLOSING_ALONE;
    }
}
