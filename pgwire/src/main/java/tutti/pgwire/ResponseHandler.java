package tutti.pgwire;

import io.netty.buffer.ByteBuf;

/**
 * Sees the responses to one batch that was sent on a {@link BackendConnection}. Called on the connection's event loop;
 * must not block. Exactly one of {@link #ready} and {@link #lost} is called, last.
 */
public interface ResponseHandler {
    /**
     * A message of the server, other than ReadyForQuery, ParameterStatus and NotificationResponse.
     *
     * @param type one of {@link Backend}'s constants
     * @param body valid and readable during the call only
     */
    void message(byte type, ByteBuf body);

    /**
     * The batch is complete.
     *
     * @param status of the transaction: {@link Backend#IDLE}, {@link Backend#IN_TRANSACTION} or {@link Backend#FAILED}
     */
    void ready(byte status);

    /** The connection is gone; how much of the batch was done is not known. */
    void lost(Throwable cause);
}
