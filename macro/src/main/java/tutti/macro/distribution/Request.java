package tutti.macro.distribution;

/**
 * A received request: its bytes, untouched, and what is needed to queue and to answer it (MacroDDB, section 4.2.3.1).
 *
 * @param id to be told in the reply
 * @param source node that sent it
 * @param position in the total order; 0 if it came to this node alone
 * @param broadcast whether all nodes got it
 * @param priority the higher the sooner, in queues that look at it
 * @param reads whether it says that it only reads
 * @param wantsReply whether the sender executes nothing itself and waits for a reply
 * @param content the encoded macro-operation
 */
public record Request(RequestId id, int source, long position, boolean broadcast, int priority, boolean reads,
        boolean wantsReply, byte[] content) {}
